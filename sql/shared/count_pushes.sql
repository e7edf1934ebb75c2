UPDATE websub_subscriptions
SET pushes = pushes + $2, rejected = rejected + $3, last_push_at = coalesce($4, last_push_at)
WHERE token = $1
