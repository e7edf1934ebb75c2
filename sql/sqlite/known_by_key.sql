-- The post with this key, stored or removed.
SELECT id, entry_key, content_hash, url, published_at, title, revision, changed_at
FROM posts
WHERE source_id = $1 AND entry_key = $2
UNION ALL
SELECT NULL, entry_key, content_hash, NULL, NULL, NULL, 0, NULL
FROM cleaned_posts
WHERE source_id = $1 AND entry_key = $2
