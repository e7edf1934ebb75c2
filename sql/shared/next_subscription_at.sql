SELECT min(next_attempt_at)
FROM websub_subscriptions
WHERE next_attempt_at > $1
