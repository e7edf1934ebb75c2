INSERT INTO articles (podcast_id, title, body, url, published_at, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
RETURNING id
