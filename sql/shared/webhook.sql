SELECT {webhook_columns}
FROM webhooks
WHERE id = $1
