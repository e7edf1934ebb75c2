UPDATE webhooks
SET enabled = $2, disabled_reason = $3, failures = 0, retry_at = NULL
WHERE id = $1
