SELECT {sources.source_columns}, source_access.sealed
FROM sources
LEFT JOIN source_access ON source_access.source_id = sources.id
WHERE sources.id IN (SELECT value FROM json_each($1))
