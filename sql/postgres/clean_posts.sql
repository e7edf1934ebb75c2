-- A link that was made just before the lock shows up here: that post stays.
DELETE FROM posts
WHERE id = ANY ($1::bigint[])
    AND NOT EXISTS (SELECT 1 FROM post_articles WHERE post_id = posts.id)
RETURNING source_id, content_hash
