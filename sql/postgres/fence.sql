-- The first statement of a settle: returns the claims that no longer hold. FOR KEY SHARE lets renewals
-- through, and keeps the node from being declared ended until the settle is committed. Node and epoch are compared,
-- because epochs can repeat after lost commits.
-- The arrays are subqueries, so that the planner does not know their lengths and plans once instead of each time; OFFSET
-- has it read shards once, without a hash table of all of them.
WITH us AS MATERIALIZED (SELECT node_id FROM nodes WHERE node_id = $1 AND ended_at IS NULL FOR KEY SHARE)
SELECT claimed.shard::bigint, claimed.epoch
FROM unnest((SELECT $2::integer[]), (SELECT $3::bigint[])) AS claimed (shard, epoch)
WHERE NOT EXISTS (
    SELECT
    FROM (
        SELECT shard, epoch
        FROM shards
        WHERE shard = ANY ((SELECT $2::integer[])::integer[]) AND node_id = (SELECT node_id FROM us)
        OFFSET 0
    ) AS held
    WHERE held.shard = claimed.shard AND held.epoch = claimed.epoch
)
