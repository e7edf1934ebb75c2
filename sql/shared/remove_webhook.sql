DELETE FROM webhooks WHERE id = $1
