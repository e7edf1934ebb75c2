-- New and changed posts of a source in the order of their numbers: those that never changed by their ids, the others by the number
-- of their last change.
SELECT id, bytes
FROM (
    SELECT * FROM (
        SELECT id, {post_bytes} AS bytes, id AS number
        FROM posts
        WHERE source_id = $3 AND id > $1 AND changed_number IS NULL
        ORDER BY id
        LIMIT $2
    ) AS added
    UNION ALL
    SELECT * FROM (
        SELECT id, {post_bytes} AS bytes, changed_number AS number
        FROM posts
        WHERE source_id = $3 AND changed_number > $1
        ORDER BY changed_number
        LIMIT $2
    ) AS changed
) AS changes
ORDER BY number
LIMIT $2
