UPDATE nodes SET ended_at = clock_timestamp(), ended_by = $1
WHERE node_id = ANY ($2::bigint[]) AND ended_at IS NULL
