-- From one moment on, before another, after the post that was met last.
SELECT id, source_id, title, body, url, author, published_at, created_at, content_hash
FROM posts
WHERE created_at >= ?1 AND created_at < ?2 AND (created_at, id) > (?3, ?4)
ORDER BY created_at, id
LIMIT ?5
