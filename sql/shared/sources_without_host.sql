SELECT id, type, url
FROM sources
WHERE host IS NULL AND id > $2
ORDER BY id
LIMIT $1
