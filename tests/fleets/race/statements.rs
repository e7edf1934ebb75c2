//! The statements that contend, and the triggers that watch them.

/// Statements of a fleet, as the product sends them.
#[derive(Clone)]
pub(super) struct Statements {
    pub(super) join: String,
    pub(super) renew: String,
    pub(super) expire: String,
    pub(super) take: String,
    pub(super) release: String,
    pub(super) leave: String,
    pub(super) fence: String,
}

impl Statements {
    pub(super) fn product() -> Statements {
        Statements {
            join: JOIN.into(),
            renew: RENEW.into(),
            expire: EXPIRE.into(),
            take: TAKE.into(),
            release: RELEASE.into(),
            leave: LEAVE.into(),
            fence: FENCE.into(),
        }
    }

    /// The control: a fence that reads without a lock.
    pub(super) fn without_lock() -> Statements {
        let product = Statements::product();
        let fence = product.fence.replace("FOR KEY SHARE", "");
        assert_ne!(fence, product.fence, "the fence takes its lock with FOR KEY SHARE");
        Statements { fence, ..product }
    }
}

const JOIN: &str = "
WITH before AS (UPDATE nodes SET ended_at = clock_timestamp(), ended_by = $1 WHERE node_id IN (
  SELECT node_id FROM nodes WHERE name = $2 AND boot = $3 AND ended_at IS NULL FOR UPDATE))
INSERT INTO nodes (node_id, name, boot, version, settings, expires_at)
SELECT $1, $2, $3, $4, $5, clock_timestamp() + lease FROM fleet";

const RENEW: &str = "
WITH renewed AS (UPDATE nodes SET beat = beat + 1, expires_at = clock_timestamp() + lease
  FROM fleet WHERE node_id = $1 AND ended_at IS NULL RETURNING beat)
SELECT (SELECT beat FROM renewed),
  ARRAY(SELECT shard FROM shards WHERE node_id = $1 ORDER BY shard),
  ARRAY(SELECT epoch FROM shards WHERE node_id = $1 ORDER BY shard),
  ARRAY(SELECT node_id FROM nodes WHERE ended_at IS NULL ORDER BY node_id),
  ARRAY(SELECT beat FROM nodes WHERE ended_at IS NULL ORDER BY node_id)";

const EXPIRE: &str = "
UPDATE nodes SET ended_at = clock_timestamp(), ended_by = $1 WHERE node_id IN (
  SELECT node_id FROM nodes JOIN unnest($2::bigint[], $3::bigint[]) AS still (node_id, beat) USING (node_id, beat)
  WHERE ended_at IS NULL AND expires_at <= clock_timestamp()
  ORDER BY node_id FOR UPDATE OF nodes SKIP LOCKED) RETURNING name";

const TAKE: &str = "
UPDATE shards SET node_id = $1, epoch = epoch + 1 WHERE shard IN (
  SELECT shard FROM shards LEFT JOIN nodes USING (node_id)
  WHERE shards.node_id IS NULL OR nodes.ended_at IS NOT NULL
  ORDER BY random() LIMIT $2 FOR UPDATE OF shards SKIP LOCKED)
AND EXISTS (SELECT FROM nodes WHERE node_id = $1 AND ended_at IS NULL)
AND EXISTS (SELECT FROM fleet WHERE quiet_until <= clock_timestamp()) RETURNING shard, epoch";

const RELEASE: &str = "UPDATE shards SET node_id = NULL WHERE node_id = $1 AND shard = ANY($2)";

const LEAVE: &str = "UPDATE nodes SET ended_at = clock_timestamp(), ended_by = $1 WHERE node_id = $1";

const FENCE: &str = "
WITH us AS MATERIALIZED (SELECT node_id FROM nodes WHERE node_id = $1 AND ended_at IS NULL FOR KEY SHARE)
SELECT claimed.shard FROM unnest($2::integer[], $3::bigint[]) AS claimed (shard, epoch)
LEFT JOIN shards ON shards.shard = claimed.shard AND shards.epoch = claimed.epoch
  AND shards.node_id = (SELECT node_id FROM us) WHERE shards.shard IS NULL";

/// Tables of a fleet, until the product has them.
pub(super) const SCHEMA: &str = "
CREATE TABLE nodes (
  node_id bigint PRIMARY KEY, name text NOT NULL, boot text NOT NULL, version text NOT NULL, settings text NOT NULL,
  joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  beat bigint NOT NULL DEFAULT 0, expires_at timestamptz NOT NULL,
  report jsonb NOT NULL DEFAULT '{}', ended_at timestamptz, ended_by bigint) WITH (fillfactor = 50);
CREATE TABLE shards (shard integer PRIMARY KEY, node_id bigint REFERENCES nodes, epoch bigint NOT NULL DEFAULT 0);
INSERT INTO shards SELECT generate_series(0, 255);
CREATE TABLE fleet (only_row integer PRIMARY KEY CHECK (only_row = 1), lease interval NOT NULL,
  timeline text, quiet_until timestamptz NOT NULL DEFAULT 'epoch');
INSERT INTO fleet VALUES (1, '30 s');";

/// What the writers write, and triggers that record violations. Functions in PL/pgSQL see what is committed at each of
/// their statements.
pub(super) const OBSERVERS: &str = "
CREATE TABLE race_writes (shard integer PRIMARY KEY, epoch bigint NOT NULL DEFAULT 0);
INSERT INTO race_writes (shard) SELECT shard FROM shards;
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
