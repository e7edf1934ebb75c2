-- Once a day is enough to know that an entry is still in its feed.
UPDATE cleaned_posts SET last_seen_at = met.seen_at
FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[]) AS met (source_id, entry_key, seen_at)
WHERE cleaned_posts.source_id = met.source_id
    AND cleaned_posts.entry_key = met.entry_key
    AND cleaned_posts.last_seen_at < met.seen_at - interval '1 day'
