//! The statements that contend, and the triggers that watch them.

/// Statements of a fleet, as the product sends them.
#[derive(Clone)]
pub(super) struct Statements {
    pub(super) lock_fleet: &'static str,
    pub(super) namesakes: &'static str,
    pub(super) end_nodes: &'static str,
    pub(super) join: &'static str,
    pub(super) renew: &'static str,
    pub(super) expire: &'static str,
    pub(super) take: &'static str,
    pub(super) release: &'static str,
    pub(super) leave: &'static str,
    pub(super) fence: String,
    pub(super) fence_shape: FenceShape,
}

/// The two statements of the product that contain the fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FenceShape {
    /// `fence.sql`: takes node, shards and epochs; returns shards.
    Alone,
    /// `lock_claimed_sources.sql`: takes sources, node, shards and epochs; returns places of claims, then locked sources.
    WithSources,
}

impl Statements {
    pub(super) fn product(fence_shape: FenceShape) -> Statements {
        let fence = match fence_shape {
            FenceShape::Alone => include_str!("../../../sql/postgres/fence.sql"),
            FenceShape::WithSources => include_str!("../../../sql/postgres/lock_claimed_sources.sql"),
        };
        Statements {
            lock_fleet: include_str!("../../../sql/postgres/lock_fleet.sql"),
            namesakes: include_str!("../../../sql/postgres/namesakes.sql"),
            end_nodes: include_str!("../../../sql/postgres/end_nodes.sql"),
            join: include_str!("../../../sql/postgres/join_fleet.sql"),
            renew: include_str!("../../../sql/postgres/renew_node.sql"),
            expire: include_str!("../../../sql/postgres/expire_nodes.sql"),
            take: include_str!("../../../sql/postgres/take_shards.sql"),
            release: include_str!("../../../sql/postgres/release_shards.sql"),
            leave: include_str!("../../../sql/postgres/leave_fleet.sql"),
            fence: fence.into(),
            fence_shape,
        }
    }

    /// The control: a fence that reads without a lock.
    pub(super) fn without_lock(fence_shape: FenceShape) -> Statements {
        let product = Statements::product(fence_shape);
        let fence = product.fence.replace("ended_at IS NULL FOR KEY SHARE", "ended_at IS NULL");
        assert_ne!(fence, product.fence, "the fence takes its lock with FOR KEY SHARE");
        Statements { fence, ..product }
    }
}

/// What the writers write, and triggers that record violations. Functions in PL/pgSQL see what is committed at each of
/// their statements.
pub(super) const OBSERVERS: &str = "
CREATE TABLE race_writes (shard integer PRIMARY KEY, epoch bigint NOT NULL DEFAULT 0);
INSERT INTO race_writes (shard) SELECT shard FROM shards;
INSERT INTO sources (version, created_at, updated_at, type, url)
    SELECT 1, now(), now(), 'rss', 'http://host-' || shard || '.example/feed' FROM shards ORDER BY shard;
CREATE TABLE race_faults (fault text NOT NULL);

CREATE FUNCTION watch_shards() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.node_id IS NOT NULL AND OLD.node_id IS DISTINCT FROM NEW.node_id THEN
    IF EXISTS (SELECT FROM nodes WHERE node_id = OLD.node_id AND ended_at IS NULL) THEN
      INSERT INTO race_faults VALUES (format('shard %s was taken from the live node %s', OLD.shard, OLD.node_id));
    END IF;
    IF NEW.epoch <> OLD.epoch + 1 THEN
      INSERT INTO race_faults VALUES (format('shard %s went from epoch %s to %s', OLD.shard, OLD.epoch, NEW.epoch));
    END IF;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER watch_shards BEFORE UPDATE ON shards FOR EACH ROW EXECUTE FUNCTION watch_shards();

CREATE FUNCTION watch_nodes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF OLD.ended_at IS NOT NULL AND NEW.beat <> OLD.beat THEN
    INSERT INTO race_faults VALUES (format('node %s was renewed after its end', OLD.node_id));
  END IF;
  IF OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND OLD.expires_at > clock_timestamp()
    AND NOT EXISTS (SELECT FROM nodes WHERE node_id = NEW.ended_by AND name = OLD.name) AND NEW.ended_by <> OLD.node_id
    AND EXISTS (SELECT FROM nodes WHERE node_id = NEW.ended_by) THEN
    INSERT INTO race_faults VALUES (format('node %s was expired within its lease', OLD.node_id));
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER watch_nodes BEFORE UPDATE ON nodes FOR EACH ROW EXECUTE FUNCTION watch_nodes();";
