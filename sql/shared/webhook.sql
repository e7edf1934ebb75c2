SELECT
    id, url, label, enabled, disabled_reason, last_post_id, failures, retry_at, last_error, last_delivered_at, created_at
FROM webhooks
WHERE id = $1
