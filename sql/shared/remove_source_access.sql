DELETE FROM source_access WHERE source_id = $1
