SELECT id, source_id, title, body, url, author, byline, published_at, created_at, content_hash
FROM posts
WHERE id < $1
ORDER BY id DESC
LIMIT $2
