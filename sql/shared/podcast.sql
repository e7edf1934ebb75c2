SELECT id, user_id, title, created_at
FROM podcasts
WHERE id = $1
