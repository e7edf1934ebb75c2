SELECT entry_keys FROM source_documents WHERE source_id = $1
