-- Nothing if the source has one already that is not being ended.
INSERT INTO websub_subscriptions (
    token, source_id, hub, topic, public_url, secret, is_sealed, state, next_attempt_at, created_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, 'waiting', $8, $8)
ON CONFLICT DO NOTHING
