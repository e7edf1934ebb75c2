-- Posts between two ids, by time, source, label and text; NULL takes all. The caller bounds the range, because every post in
-- it may have to be read.
SELECT id, {post_bytes}
FROM posts
WHERE id > $1 AND id < $2 AND created_at >= $7 AND created_at < $8
    AND (CAST($3 AS bigint) IS NULL OR source_id = $3)
    AND (CAST($4 AS text) IS NULL OR EXISTS (
        SELECT 1 FROM source_labels WHERE source_labels.source_id = posts.source_id AND label = $4
    ))
    AND (
        CAST($5 AS text) IS NULL
        OR lower(title) LIKE lower($5) ESCAPE '\'
        OR lower(text) LIKE lower($5) ESCAPE '\'
    )
ORDER BY id
LIMIT $6
