SELECT id, podcast_id, title, body, url, published_at, created_at, is_processed
FROM articles
WHERE id > $1
ORDER BY id
LIMIT $2
