INSERT INTO cleaned_posts (source_id, content_hash, last_seen_at)
SELECT source_id, content_hash, $3
FROM unnest($1::bigint[], $2::bytea[]) AS cleaned (source_id, content_hash)
ORDER BY source_id, content_hash
ON CONFLICT (source_id, content_hash) DO UPDATE SET last_seen_at = excluded.last_seen_at
