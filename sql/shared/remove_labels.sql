DELETE FROM source_labels WHERE source_id = $1
