WITH freed AS (UPDATE shards SET node_id = NULL WHERE node_id = $1 RETURNING shard)
UPDATE nodes SET ended_at = clock_timestamp(), ended_by = $1 WHERE node_id = $1 AND ended_at IS NULL
