SELECT id, name, created_at
FROM users
WHERE id = $1
