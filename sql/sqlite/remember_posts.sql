INSERT INTO cleaned_posts (source_id, content_hash, entry_key, last_seen_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (source_id, content_hash, entry_key) DO UPDATE SET last_seen_at = excluded.last_seen_at
