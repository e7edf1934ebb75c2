-- Locks the rows that no other session locks; the others have no version here.
WITH free AS MATERIALIZED (
    SELECT id, version, last_poll_id
    FROM sources
    WHERE id = ANY ($1::bigint[])
    ORDER BY id
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT sources.id, free.version, free.last_poll_id, nextval('poll_ids')
FROM sources
LEFT JOIN free ON free.id = sources.id
WHERE sources.id = ANY ($1::bigint[])
