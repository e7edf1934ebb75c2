-- New and changed posts in the order of their numbers: those that never changed by their ids, the others by the number
-- of their last change.
SELECT id, bytes
FROM (
    SELECT * FROM (
        SELECT id, {post_bytes} AS bytes, id AS number
        FROM posts
        WHERE id > $1 AND changed_number IS NULL
        ORDER BY id
        LIMIT $2
    ) AS added
    UNION ALL
    SELECT * FROM (
        SELECT id, {post_bytes} AS bytes, changed_number AS number
        FROM posts
        WHERE changed_number > $1
        ORDER BY changed_number
        LIMIT $2
    ) AS changed
) AS changes
ORDER BY number
LIMIT $2
