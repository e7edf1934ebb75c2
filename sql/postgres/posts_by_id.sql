SELECT {post_columns}
FROM posts
WHERE id = ANY ($1::bigint[])
