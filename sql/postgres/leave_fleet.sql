-- A settle that has passed the fence is waited for, as in expire_nodes. Other nodes are told at once.
WITH us AS MATERIALIZED (
    SELECT node_id FROM nodes WHERE node_id = $1 AND ended_at IS NULL FOR UPDATE
),
freed AS (
    UPDATE shards SET node_id = NULL WHERE node_id IN (SELECT node_id FROM us) RETURNING shard
),
ended AS (
    UPDATE nodes SET ended_at = clock_timestamp(), ended_by = $1 WHERE node_id IN (SELECT node_id FROM us) RETURNING node_id
)
SELECT pg_notify('feedwarden_fleet', 'f') FROM ended
