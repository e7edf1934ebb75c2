-- Locks the rows that no other session locks, and gives the others.
WITH free AS MATERIALIZED (
    SELECT host
    FROM hosts
    WHERE host = ANY ($1::text[])
    ORDER BY host COLLATE "C"
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT hosts.host
FROM hosts
LEFT JOIN free ON free.host = hosts.host
WHERE hosts.host = ANY ($1::text[]) AND free.host IS NULL
