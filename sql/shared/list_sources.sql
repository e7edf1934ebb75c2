-- Paged by key, never by offset: no source is missed or repeated when rows are added or removed.
SELECT {source_columns}
FROM sources
WHERE id > $1
ORDER BY id
LIMIT $2
