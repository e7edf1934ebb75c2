SELECT source_id, entry_keys FROM source_documents WHERE source_id = ANY ($1::bigint[])
