SELECT id, source_id, title, body, url, author, byline, published_at, created_at, content_hash
FROM posts
WHERE source_id = $1 AND id > $2
ORDER BY id
LIMIT $3
