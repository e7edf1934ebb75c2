-- The newest posts that an earlier version stored, without keys; a bounded number.
SELECT id, entry_key, content_hash, url, published_at, title, revision, changed_at
FROM posts
WHERE source_id = $1 AND entry_key IS NULL
ORDER BY id DESC
LIMIT 1000
