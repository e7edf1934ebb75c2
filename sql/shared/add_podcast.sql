INSERT INTO podcasts (user_id, title, created_at)
VALUES ($1, $2, $3)
RETURNING id
