UPDATE cleaned_posts SET entry_key = renamed.entry_key, last_seen_at = renamed.seen_at
FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::timestamptz[])
    AS renamed (source_id, content_hash, old_key, entry_key, seen_at)
WHERE cleaned_posts.source_id = renamed.source_id
    AND cleaned_posts.content_hash = renamed.content_hash
    AND cleaned_posts.entry_key = renamed.old_key
