-- Removes the history of source $1, which is about to be removed.
WITH RECURSIVE chain (id) AS (
    SELECT last_poll_id FROM sources WHERE sources.id = $1 AND sources.version = coalesce($2, sources.version)
    UNION ALL
    SELECT polls.previous_id
    FROM chain
    JOIN polls ON polls.id = chain.id AND polls.source_id = $1
    WHERE polls.previous_id < polls.id
)
DELETE FROM polls WHERE source_id = $1 AND id IN (SELECT id FROM chain)
