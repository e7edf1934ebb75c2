SELECT {post_columns}
FROM posts
WHERE id IN (SELECT value FROM json_each($1))
