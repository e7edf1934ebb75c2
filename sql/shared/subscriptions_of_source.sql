-- The one that is not being ended first.
SELECT {subscription_columns}
FROM websub_subscriptions
WHERE source_id = $1
ORDER BY state = 'leaving', created_at DESC, token
LIMIT $2
