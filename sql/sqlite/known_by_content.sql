-- The newest posts with this content, stored or removed; a bounded number.
SELECT * FROM (
    SELECT id, entry_key, content_hash, url, published_at, title, revision, changed_at
    FROM posts
    WHERE source_id = $1 AND content_hash = $2
    ORDER BY id DESC
    LIMIT 64
)
UNION ALL
SELECT * FROM (
    SELECT NULL, nullif(entry_key, 0), content_hash, NULL, NULL, NULL, 0, NULL
    FROM cleaned_posts
    WHERE source_id = $1 AND content_hash = $2
    LIMIT 64
)
