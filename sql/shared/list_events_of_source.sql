-- The same as list_events for one source ($6).
SELECT kind, number, id, bytes
FROM (
    SELECT * FROM (
        SELECT CAST(0 AS bigint) AS kind, id AS number, id, {post_bytes} AS bytes
        FROM posts
        WHERE source_id = $6 AND id > $1 AND $3
        ORDER BY id
        LIMIT $2
    ) AS created
    UNION ALL
    SELECT * FROM (
        SELECT CAST(1 AS bigint) AS kind, changed_number AS number, id, {post_bytes} AS bytes
        FROM posts
        WHERE source_id = $6 AND changed_number > $1 AND $4
        ORDER BY changed_number
        LIMIT $2
    ) AS updated
    UNION ALL
    SELECT * FROM (
        SELECT CAST(2 AS bigint) AS kind, number, number AS id, CAST(0 AS bigint) AS bytes
        FROM events
        WHERE source_id = $6 AND number > $1 AND $5
        ORDER BY number
        LIMIT $2
    ) AS others
) AS found
ORDER BY number
LIMIT $2
