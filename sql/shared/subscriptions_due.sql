-- Those as well that a clock which was ahead has planned: after $2, or because of something after $3.
SELECT {subscription_columns}
FROM websub_subscriptions
WHERE (next_attempt_at <= $1 OR next_attempt_at > $2 OR verified_at > $3 OR asked_at > $3) AND token > $4
ORDER BY token
LIMIT $5
