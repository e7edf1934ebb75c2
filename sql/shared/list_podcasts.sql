SELECT id, user_id, title, created_at
FROM podcasts
WHERE id > $1
ORDER BY id
LIMIT $2
