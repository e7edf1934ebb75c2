WITH freed AS (
    UPDATE shards SET node_id = NULL WHERE node_id = $1 RETURNING shard
),
ended AS (
    UPDATE nodes SET ended_at = clock_timestamp(), ended_by = $1 WHERE node_id = $1 AND ended_at IS NULL RETURNING node_id
)
SELECT pg_notify('feedwarden_fleet', 'f') FROM ended
