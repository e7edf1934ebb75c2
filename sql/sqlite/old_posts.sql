SELECT id
FROM posts
WHERE is_linked = 0 AND coalesce(published_at, created_at) < ?1
ORDER BY coalesce(published_at, created_at), id
LIMIT ?2
