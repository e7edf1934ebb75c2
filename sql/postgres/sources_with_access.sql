SELECT source_id
FROM source_access
WHERE source_id = ANY ($1::bigint[])
