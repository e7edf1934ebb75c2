SELECT {sources.source_columns}, source_access.sealed
FROM sources
LEFT JOIN source_access ON source_access.source_id = sources.id
WHERE sources.id = ANY ($1)
