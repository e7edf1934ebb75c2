-- Among the last posts alone, so that a label with few of them costs no more than one with many.
SELECT {post_columns}
FROM posts
WHERE id > (SELECT coalesce(max(id), 0) - 20000 FROM posts)
    AND EXISTS (SELECT 1 FROM source_labels WHERE source_labels.source_id = posts.source_id AND label = $1)
ORDER BY id DESC
LIMIT $2
