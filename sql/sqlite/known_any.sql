-- Whether a source has or had any posts.
SELECT EXISTS (SELECT 1 FROM posts WHERE source_id = $1) OR EXISTS (SELECT 1 FROM cleaned_posts WHERE source_id = $1)
