DELETE FROM websub_subscriptions
WHERE token = $1
