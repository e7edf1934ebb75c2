-- Grouped, because no row may be written twice by one statement; ordered, so that two of them do not deadlock.
INSERT INTO cleaned_posts (source_id, content_hash, entry_key, last_seen_at)
SELECT source_id, content_hash, entry_key, max(seen_at)
FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::timestamptz[])
    AS remembered (source_id, content_hash, entry_key, seen_at)
GROUP BY source_id, content_hash, entry_key
ORDER BY source_id, content_hash, entry_key
ON CONFLICT (source_id, content_hash, entry_key) DO UPDATE SET last_seen_at = excluded.last_seen_at
