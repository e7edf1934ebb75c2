-- Locks the posts, so that none is linked to an article before its removal. Also locks their sources, which storing
-- their hashes requires: waiting later for a source that is being removed would be a deadlock.
SELECT posts.id
FROM posts
JOIN sources ON sources.id = posts.source_id
WHERE NOT posts.is_linked
    AND CASE WHEN is_page OR is_backfill THEN posts.created_at ELSE coalesce(published_at, posts.created_at) END < $1
ORDER BY CASE WHEN is_page OR is_backfill THEN posts.created_at ELSE coalesce(published_at, posts.created_at) END, posts.id
LIMIT $2
FOR UPDATE OF posts SKIP LOCKED
FOR KEY SHARE OF sources SKIP LOCKED
