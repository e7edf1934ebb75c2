SELECT source_id, sealed
FROM source_access
WHERE source_id > $1
ORDER BY source_id
LIMIT $2
