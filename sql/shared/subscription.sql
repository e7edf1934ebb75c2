SELECT {subscription_columns}
FROM websub_subscriptions
WHERE token = $1
