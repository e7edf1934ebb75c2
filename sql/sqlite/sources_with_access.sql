SELECT source_id
FROM source_access
WHERE source_id IN (SELECT value FROM json_each($1))
