-- Hashes whose feed was not read since they were last seen may still be in it. Updating last_seen_at moves them to the
-- end, so that a step never reads more rows than its limit.
UPDATE cleaned_posts SET last_seen_at = $3
WHERE (source_id, content_hash, entry_key) IN (
    SELECT source_id, content_hash, entry_key
    FROM cleaned_posts
    WHERE last_seen_at < $1
    ORDER BY last_seen_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
) AND NOT EXISTS (
    SELECT 1 FROM sources
    WHERE sources.id = cleaned_posts.source_id
        AND cleaned_posts.last_seen_at < sources.last_read_at - interval '2 days'
)
