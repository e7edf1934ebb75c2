INSERT INTO source_documents (source_id, entry_keys)
VALUES ($1, $2)
ON CONFLICT (source_id) DO UPDATE SET entry_keys = excluded.entry_keys
