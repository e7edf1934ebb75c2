SELECT id, {post_bytes}
FROM posts
WHERE id < $1
ORDER BY id DESC
LIMIT $2
