SELECT id
FROM posts
WHERE coalesce(published_at, created_at) < ?1
    AND NOT EXISTS (SELECT 1 FROM post_articles WHERE post_id = posts.id)
ORDER BY coalesce(published_at, created_at), id
LIMIT ?2
