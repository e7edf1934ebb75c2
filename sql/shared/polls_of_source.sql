-- The polls of source $1, newest first: at most $3 of them, beginning with the one before poll $2, or with the last one.
-- Ids fall along the chain; if the older part is removed, the chain ends there.
-- The cross joins make SQLite begin with the chain: with plain joins the time grew with the number of all polls.
WITH RECURSIVE chain (id, place) AS (
    SELECT
        CASE
            WHEN CAST($2 AS bigint) IS NULL THEN (SELECT last_poll_id FROM sources WHERE sources.id = $1)
            ELSE (SELECT previous_id FROM polls WHERE polls.id = $2 AND source_id = $1)
        END,
        CAST(1 AS bigint)
    UNION ALL
    SELECT polls.previous_id, chain.place + 1
    FROM chain
    CROSS JOIN polls
    WHERE polls.id = chain.id AND polls.source_id = $1 AND chain.place < $3 AND polls.previous_id < polls.id
)
SELECT {polls.poll_columns}
FROM chain
CROSS JOIN polls
WHERE polls.id = chain.id AND polls.source_id = $1
ORDER BY polls.id DESC
