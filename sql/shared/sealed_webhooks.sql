SELECT id, url, sealed
FROM webhooks
WHERE id > $1
ORDER BY id
LIMIT $2
