SELECT id, {post_bytes}
FROM posts
WHERE id > $1
ORDER BY id
LIMIT $2
