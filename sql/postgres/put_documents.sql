INSERT INTO source_documents (source_id, entry_keys)
SELECT source_id, entry_keys FROM unnest($1::bigint[], $2::bytea[]) AS read (source_id, entry_keys)
ON CONFLICT (source_id) DO UPDATE SET entry_keys = excluded.entry_keys
