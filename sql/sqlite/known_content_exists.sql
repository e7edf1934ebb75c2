SELECT EXISTS (SELECT 1 FROM posts INDEXED BY posts_by_content WHERE source_id = $1 AND content_hash = $2)
    OR EXISTS (SELECT 1 FROM cleaned_posts WHERE source_id = $1 AND content_hash = $2)
