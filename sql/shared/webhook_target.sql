SELECT url, sealed, enabled, format
FROM webhooks
WHERE id = $1
