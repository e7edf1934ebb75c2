SELECT {source_columns}
FROM sources
WHERE id = $1
