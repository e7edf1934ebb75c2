-- The same of one source. The plus keeps the engine to the posts of that source: by time it would look at everybody's.
SELECT {post_columns}
FROM posts
WHERE source_id = $1 AND (+created_at, id) > ($2, $3) AND +created_at < $4
ORDER BY +created_at, id
LIMIT $5
