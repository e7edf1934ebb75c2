-- The entry of a post came under another id. A key that another post has got meanwhile is not given again.
UPDATE posts SET entry_key = $2
WHERE id = $1
    AND NOT EXISTS (SELECT 1 FROM posts AS other WHERE other.source_id = posts.source_id AND other.entry_key = $2)
