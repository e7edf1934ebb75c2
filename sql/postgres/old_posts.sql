-- Locked, so that nobody links them to an article between this look and their removal. Their sources are locked too, as
-- remembering their hashes will ask for: a source that is just being removed takes its posts with it, and waiting for
-- it later on would be a deadlock.
SELECT posts.id
FROM posts
JOIN sources ON sources.id = posts.source_id
WHERE NOT posts.is_linked
    AND CASE WHEN is_page THEN posts.created_at ELSE coalesce(published_at, posts.created_at) END < $1
ORDER BY CASE WHEN is_page THEN posts.created_at ELSE coalesce(published_at, posts.created_at) END, posts.id
LIMIT $2
FOR UPDATE OF posts SKIP LOCKED
FOR KEY SHARE OF sources SKIP LOCKED
