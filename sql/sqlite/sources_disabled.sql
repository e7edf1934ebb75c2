SELECT {source_columns}
FROM sources
WHERE enabled = 0 AND id > $1
ORDER BY id
LIMIT $2
