SELECT id, coalesce(title, feed_title), url
FROM sources
WHERE id IN (SELECT value FROM json_each($1))
