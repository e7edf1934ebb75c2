SELECT id, type, url
FROM sources
WHERE host IS NULL
ORDER BY id
LIMIT $1
