-- After the post that was met last, before a moment.
SELECT id, {post_bytes}
FROM posts
WHERE (created_at, id) > ($1, $2) AND created_at < $3
ORDER BY created_at, id
LIMIT $4
