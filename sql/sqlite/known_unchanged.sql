-- The post of an entry that has not changed, found in the index alone.
SELECT id FROM posts INDEXED BY posts_by_content
WHERE source_id = $1 AND content_hash = $2 AND entry_key = $3
