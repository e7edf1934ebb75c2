-- From now on: what was stored before is not sent.
INSERT INTO webhooks (url, sealed, label, created_at, last_post_id)
VALUES ($1, $2, $3, $4, coalesce((SELECT max(id) FROM posts), 0))
RETURNING id
