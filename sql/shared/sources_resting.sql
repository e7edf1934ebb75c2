SELECT {source_columns}
FROM sources
WHERE feed_disabled_at IS NOT NULL AND id > $1
ORDER BY id
LIMIT $2
