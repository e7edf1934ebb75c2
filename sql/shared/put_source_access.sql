INSERT INTO source_access (source_id, sealed, updated_at)
VALUES ($1, $2, $3)
ON CONFLICT (source_id) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at
