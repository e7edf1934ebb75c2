-- After the post that was met last, before a moment.
SELECT id, source_id, title, body, url, author, byline, published_at, created_at, content_hash
FROM posts
WHERE (created_at, id) > ($1, $2) AND created_at < $3
ORDER BY created_at, id
LIMIT $4
