SELECT {source_columns}
FROM sources
WHERE NOT enabled AND id > $1
ORDER BY id
LIMIT $2
