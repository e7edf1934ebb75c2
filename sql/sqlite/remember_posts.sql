INSERT INTO cleaned_posts (source_id, content_hash, last_seen_at)
VALUES ($1, $2, $3)
ON CONFLICT (source_id, content_hash) DO UPDATE SET last_seen_at = excluded.last_seen_at
