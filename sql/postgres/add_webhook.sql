-- From now on: what was stored before is not sent.
INSERT INTO webhooks (url, sealed, label, created_at, last_post_id)
SELECT $1::text, $2::bytea, $3::text, $4::timestamptz, coalesce((SELECT max(id) FROM posts), 0)
RETURNING id
