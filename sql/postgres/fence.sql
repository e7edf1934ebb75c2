-- The first statement of a settle: returns the claims that no longer hold. FOR KEY SHARE lets renewals
-- through, and keeps the node from being declared ended until the settle is committed. Node and epoch are compared,
-- because epochs can repeat after lost commits.
WITH us AS MATERIALIZED (SELECT node_id FROM nodes WHERE node_id = $1 AND ended_at IS NULL FOR KEY SHARE)
SELECT claimed.shard::bigint, claimed.epoch
FROM unnest($2::integer[], $3::bigint[]) AS claimed (shard, epoch)
LEFT JOIN shards
    ON shards.shard = claimed.shard AND shards.epoch = claimed.epoch AND shards.node_id = (SELECT node_id FROM us)
WHERE shards.shard IS NULL
