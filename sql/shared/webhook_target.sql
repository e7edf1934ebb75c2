SELECT url, sealed, enabled
FROM webhooks
WHERE id = $1
