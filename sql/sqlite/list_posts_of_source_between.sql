-- The same for one source. The plus makes the engine use the index by source: by time it would read all posts.
SELECT id, {post_bytes}
FROM posts
WHERE source_id = $1 AND (+created_at, id) > ($2, $3) AND +created_at < $4
ORDER BY +created_at, id
LIMIT $5
