SELECT {source_columns}
FROM sources
WHERE host = $1 AND id > $2
ORDER BY id
LIMIT $3
