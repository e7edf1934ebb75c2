-- The index leaves feeds out, and is used where the statement says so too.
SELECT {source_columns}
FROM sources
WHERE type = $1 AND type <> 'rss' AND id > $2
ORDER BY id
LIMIT $3
