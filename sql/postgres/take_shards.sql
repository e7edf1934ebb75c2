-- Only shards without a live owner.
UPDATE shards SET node_id = $1, epoch = epoch + 1
WHERE shard IN (
        SELECT shard
        FROM shards
        LEFT JOIN nodes USING (node_id)
        WHERE shards.node_id IS NULL OR nodes.ended_at IS NOT NULL
        ORDER BY random()
        LIMIT $2
        FOR UPDATE OF shards SKIP LOCKED
    )
    AND EXISTS (SELECT FROM nodes WHERE node_id = $1 AND ended_at IS NULL)
    AND EXISTS (SELECT FROM fleet WHERE quiet_until <= clock_timestamp())
RETURNING shard::bigint, epoch
