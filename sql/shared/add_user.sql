INSERT INTO users (name, created_at)
VALUES ($1, $2)
RETURNING id
