SELECT id, user_id, title, created_at
FROM podcasts
WHERE user_id = $1 AND id > $2
ORDER BY id
LIMIT $3
