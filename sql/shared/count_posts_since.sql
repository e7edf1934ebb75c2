SELECT count(*) FROM posts WHERE created_at >= $1
