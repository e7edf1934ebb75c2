-- Sources whose feed names a hub and which have no subscription.
SELECT sources.id, sources.hubs, sources.hub_topic
FROM sources
LEFT JOIN websub_subscriptions AS subscribed
    ON subscribed.source_id = sources.id AND subscribed.state <> 'leaving'
WHERE sources.hubs IS NOT NULL AND sources.hub_topic IS NOT NULL AND sources.enabled
    AND coalesce(sources.websub, 'on') <> 'off' AND subscribed.token IS NULL AND sources.id > $1
ORDER BY sources.id
LIMIT $2
