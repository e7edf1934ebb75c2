SELECT id FROM posts WHERE source_id = $1 AND entry_key = $2
