-- One row per node is written, however many shards it owns.
WITH renewed AS (
    UPDATE nodes SET
        beat = beat + 1, report = CAST($2 AS text)::jsonb, is_taking = $3, expires_at = clock_timestamp() + lease
    FROM fleet
    WHERE node_id = $1 AND ended_at IS NULL
    RETURNING beat
)
SELECT
    (SELECT beat FROM renewed),
    clock_timestamp(),
    ARRAY(SELECT shard::bigint FROM shards WHERE node_id = $1 ORDER BY shard),
    ARRAY(SELECT epoch FROM shards WHERE node_id = $1 ORDER BY shard),
    ARRAY(SELECT node_id FROM nodes WHERE ended_at IS NULL ORDER BY node_id),
    ARRAY(SELECT beat FROM nodes WHERE ended_at IS NULL ORDER BY node_id),
    (SELECT count(*) FROM shards LEFT JOIN nodes USING (node_id) WHERE shards.node_id IS NULL OR ended_at IS NOT NULL),
    timeline,
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
    CASE
        WHEN quiet_until > clock_timestamp() + lease THEN 0
        ELSE greatest(EXTRACT(EPOCH FROM quiet_until - clock_timestamp()), 0)
    END::double precision,
    (SELECT paused_since FROM daemon),
    (SELECT count(*) FROM nodes WHERE ended_at IS NULL AND is_taking)
FROM fleet
