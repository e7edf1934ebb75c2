-- Subscriptions whose source is gone, disabled or set not to use pushes, those under another public URL ($1), and those of
-- a feed that names no hub or another topic by now. A feed is followed once they are old enough ($2), so that one that
-- names something else at each poll is not followed each time.
SELECT {subscribed.subscription_columns}
FROM websub_subscriptions AS subscribed
LEFT JOIN sources ON sources.id = subscribed.source_id
WHERE subscribed.state <> 'leaving' AND subscribed.token > $3
    AND (
        sources.id IS NULL OR NOT sources.enabled OR coalesce(sources.websub, 'on') = 'off'
        OR subscribed.public_url <> $1
        OR (subscribed.created_at <= $2 AND (sources.hubs IS NULL OR sources.hub_topic <> subscribed.topic))
    )
ORDER BY subscribed.token
LIMIT $4
