SELECT id, coalesce(title, feed_title), url
FROM sources
WHERE id = ANY ($1::bigint[])
