SELECT {source_columns}
FROM sources
WHERE url = $1
ORDER BY id
