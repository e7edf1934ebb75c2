SELECT id
FROM posts
WHERE is_linked = 0 AND CASE WHEN is_page = 1 OR is_backfill = 1 THEN created_at ELSE coalesce(published_at, created_at) END < $1
ORDER BY CASE WHEN is_page = 1 OR is_backfill = 1 THEN created_at ELSE coalesce(published_at, created_at) END, id
LIMIT $2
