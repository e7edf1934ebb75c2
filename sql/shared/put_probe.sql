INSERT INTO store_probe (id, body)
VALUES (1, $1)
ON CONFLICT (id) DO UPDATE SET body = excluded.body
