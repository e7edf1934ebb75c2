-- Of the oldest, those whose feed was not read since they were last met are still in it, as far as anybody knows. Noting
-- that moves them out of the way, so that a step never looks at more rows than its limit.
UPDATE cleaned_posts SET last_seen_at = $3
WHERE (source_id, content_hash) IN (
    SELECT source_id, content_hash
    FROM cleaned_posts
    WHERE last_seen_at < $1
    ORDER BY last_seen_at
    LIMIT $2
) AND NOT EXISTS (
    SELECT 1 FROM sources
    WHERE sources.id = cleaned_posts.source_id
        AND cleaned_posts.last_seen_at < sources.last_read_at - 2 * 86400000000
)
