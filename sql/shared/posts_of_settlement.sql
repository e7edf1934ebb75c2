SELECT id
FROM posts
WHERE source_id = $1 AND created_at = $2
ORDER BY id
