-- Several nodes on one database (docs/fleet.md). A node holds one lease; shards record which node owns them. Whether a
-- lease is over is a stored fact (ended_at), which a node writes that saw the beat of another one stand still.
CREATE TABLE nodes (
    node_id     bigint      PRIMARY KEY,
    name        text        NOT NULL,
    boot        text        NOT NULL,
    booted_for  bigint      NOT NULL,
    version     text        NOT NULL,
    settings    text        NOT NULL,
    joined_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    beat        bigint      NOT NULL DEFAULT 0,
    is_taking   boolean     NOT NULL DEFAULT true,
    expires_at  timestamptz NOT NULL,
    report      jsonb       NOT NULL DEFAULT '{}',
    ended_at    timestamptz,
    ended_by    bigint
) WITH (fillfactor = 50);

CREATE INDEX nodes_live ON nodes (name) WHERE ended_at IS NULL;

CREATE TABLE shards (
    shard    integer PRIMARY KEY,
    node_id  bigint  REFERENCES nodes (node_id),
    epoch    bigint  NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

INSERT INTO shards (shard) SELECT generate_series(0, 255);

-- The lease is stored once, so that nodes cannot disagree about it. After a failover that may have lost commits, no node
-- makes requests before quiet_until. key_check is a text that is sealed with the encryption key of the nodes.
CREATE TABLE fleet (
    only_row     integer     PRIMARY KEY CHECK (only_row = 1),
    lease        interval    NOT NULL,
    timeline     text        NOT NULL,
    quiet_until  timestamptz NOT NULL DEFAULT '1970-01-01 00:00:00+00',
    key_check    bytea
);

INSERT INTO fleet (only_row, lease, timeline) VALUES (1, interval '30 seconds', '');

-- Messages between nodes, to a shard or to a node. Not logged: after a crash of the server every node reads its shards
-- again.
-- The sequence is a logged one: PostgreSQL 15 cannot read that of an unlogged table after a standby was promoted.
CREATE SEQUENCE node_message_ids;

CREATE UNLOGGED TABLE node_messages (
    message_id  bigint      DEFAULT nextval('node_message_ids') PRIMARY KEY,
    shard       integer,
    node_id     bigint,
    sender      bigint      NOT NULL,
    body        text        NOT NULL,
    sent_at     timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The first 16 bits of SHA-256 of a host without a leading `www.`, as the model computes them. A function of the text
-- alone, so the columns below follow the hosts by themselves.
CREATE FUNCTION host_slot(host text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT get_byte(hash, 0) * 256 + get_byte(hash, 1)
    FROM sha256(decode(replace(regexp_replace(coalesce(host, ''), '^www\.', ''), '\', '\\'), 'escape')) AS hash
$$;

ALTER TABLE sources ADD COLUMN slot integer GENERATED ALWAYS AS (host_slot(host)) STORED;
ALTER TABLE hosts ADD COLUMN slot integer GENERATED ALWAYS AS (host_slot(host)) STORED;
ALTER TABLE full_text_queue ADD COLUMN slot integer GENERATED ALWAYS AS (host_slot(host)) STORED;

CREATE INDEX sources_by_slot ON sources (slot, id);
