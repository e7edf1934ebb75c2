-- Grouped, because no row may be written twice by one statement; ordered, so that two of them do not deadlock.
INSERT INTO cleaned_posts (source_id, content_hash, last_seen_at)
SELECT source_id, content_hash, max(seen_at)
FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS remembered (source_id, content_hash, seen_at)
GROUP BY source_id, content_hash
ORDER BY source_id, content_hash
ON CONFLICT (source_id, content_hash) DO UPDATE SET last_seen_at = excluded.last_seen_at
