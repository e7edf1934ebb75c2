SELECT id, {post_bytes}
FROM posts
WHERE source_id = $1 AND id > $2
ORDER BY id
LIMIT $3
