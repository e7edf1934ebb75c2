-- fence.sql and lock_sources.sql in one statement, because a statement of its own costs more than the fence: the places of
-- claims that no longer hold, then the locked rows. The number of claims is hidden from the planner, so that it
-- plans once for all numbers; OFFSET has it read shards once, and not once per claim.
WITH us AS MATERIALIZED (SELECT node_id FROM nodes WHERE node_id = $2 AND ended_at IS NULL FOR KEY SHARE),
lost AS MATERIALIZED (
    SELECT claimed.place
    FROM unnest((SELECT $3::integer[]), (SELECT $4::bigint[])) WITH ORDINALITY AS claimed (shard, epoch, place)
    WHERE NOT EXISTS (
        SELECT
        FROM (
            SELECT shard, epoch
            FROM shards
            WHERE shard = ANY ($3::integer[]) AND node_id = (SELECT node_id FROM us)
            OFFSET 0
        ) AS held
        WHERE held.shard = claimed.shard AND held.epoch = claimed.epoch
    )
),
locked AS MATERIALIZED (
    SELECT id, version
    FROM sources
    WHERE id = ANY ($1::bigint[])
    ORDER BY id
    FOR NO KEY UPDATE
)
SELECT place, NULL::bigint, NULL::bigint FROM lost
UNION ALL
SELECT NULL::bigint, id, version FROM locked
