-- Only what its feed was read without since: a feed that answers 304 for months still holds its old entries.
DELETE FROM cleaned_posts
WHERE (source_id, content_hash) IN (
    SELECT cleaned.source_id, cleaned.content_hash
    FROM cleaned_posts AS cleaned
    JOIN sources ON sources.id = cleaned.source_id
    WHERE cleaned.last_seen_at < $1 AND cleaned.last_seen_at < sources.last_read_at - interval '2 days'
    ORDER BY cleaned.last_seen_at
    LIMIT $2
)
