INSERT INTO api_keys (user_id, provider, sealed, updated_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (user_id, provider) DO UPDATE SET sealed = excluded.sealed, updated_at = excluded.updated_at
