SELECT {post_columns}
FROM posts
WHERE id > $1
ORDER BY id
LIMIT $2
