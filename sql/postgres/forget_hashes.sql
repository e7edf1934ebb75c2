-- The oldest that may go: those that were last met before this, once their feed was read without them. A feed that
-- answers 304 for months still holds its old entries.
DELETE FROM cleaned_posts
WHERE (source_id, content_hash, entry_key) IN (
    SELECT source_id, content_hash, entry_key
    FROM cleaned_posts
    WHERE last_seen_at < $1
    ORDER BY last_seen_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
) AND EXISTS (
    SELECT 1 FROM sources
    WHERE sources.id = cleaned_posts.source_id
        AND cleaned_posts.last_seen_at < sources.last_read_at - interval '2 days'
)
