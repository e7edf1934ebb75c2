-- fence.sql and lock_sources.sql in one statement: the places of claims that no longer hold, then the locked rows. A
-- statement of its own would cost more than the fence itself.
-- It is planned once for all batches: arrays are subqueries, so that the planner does not know their lengths, and
-- LATERAL has it look each source up by its id. OFFSET has it read shards once, not once for each claim. $1 is sorted, so
-- that rows are locked in one order.
WITH us AS MATERIALIZED (SELECT node_id FROM nodes WHERE node_id = $2 AND ended_at IS NULL FOR KEY SHARE)
SELECT
    claimed.place, NULL::bigint AS id, NULL::bigint AS version, NULL::bigint AS last_poll_id, NULL::bigint AS poll_id
FROM unnest((SELECT $3::integer[]), (SELECT $4::bigint[])) WITH ORDINALITY AS claimed (shard, epoch, place)
WHERE NOT EXISTS (
    SELECT
    FROM (
        SELECT shard, epoch
        FROM shards
        WHERE shard = ANY ((SELECT $3::integer[])::integer[]) AND node_id = (SELECT node_id FROM us)
        OFFSET 0
    ) AS held
    WHERE held.shard = claimed.shard AND held.epoch = claimed.epoch
)
UNION ALL
SELECT NULL::bigint, locked.id, locked.version, locked.last_poll_id, nextval('poll_ids')
FROM unnest((SELECT $1::bigint[])) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT sources.id, sources.version, sources.last_poll_id
    FROM sources
    WHERE sources.id = wanted.id
    FOR NO KEY UPDATE
) AS locked
