-- Once a day is enough to know that an entry is still in its feed.
UPDATE cleaned_posts SET last_seen_at = met.seen_at
FROM unnest($1::bigint[], $2::bytea[], $3::timestamptz[]) AS met (source_id, content_hash, seen_at)
WHERE cleaned_posts.source_id = met.source_id
    AND cleaned_posts.content_hash = met.content_hash
    AND cleaned_posts.last_seen_at < met.seen_at - interval '1 day'
