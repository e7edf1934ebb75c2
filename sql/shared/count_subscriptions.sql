SELECT state, count(*)
FROM websub_subscriptions
GROUP BY state
