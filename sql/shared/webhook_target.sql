SELECT url, sealed
FROM webhooks
WHERE id = $1
