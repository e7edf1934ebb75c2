SELECT {source_columns}
FROM sources
WHERE (enabled = 0 OR feed_disabled_at IS NOT NULL) AND id > $1
ORDER BY id
LIMIT $2
