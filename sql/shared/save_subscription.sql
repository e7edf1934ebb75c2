UPDATE websub_subscriptions
SET version = version + 1, hub = $3, state = $4, asked_at = $5, verified_at = $6, lease_seconds = $7,
    next_attempt_at = $8, attempts = $9, last_error = $10
WHERE token = $1 AND version = $2
