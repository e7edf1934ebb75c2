SELECT {post_columns}
FROM posts
WHERE id = $1
