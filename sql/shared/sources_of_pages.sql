SELECT {source_columns}
FROM sources
WHERE type = 'website' AND id > $1
ORDER BY id
LIMIT $2
