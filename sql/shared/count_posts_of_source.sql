SELECT count(*) FROM posts WHERE source_id = $1
