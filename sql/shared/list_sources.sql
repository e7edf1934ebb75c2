-- Paged by key, never by offset: nobody is missed or met twice when rows come and go.
SELECT {source_columns}
FROM sources
WHERE id > $1
ORDER BY id
LIMIT $2
