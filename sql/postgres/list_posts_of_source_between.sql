-- The same for one source. Selects its posts first: by time, the engine would read the posts of all sources.
WITH of_source AS MATERIALIZED (
    SELECT id, created_at
    FROM posts
    WHERE source_id = $1
)
SELECT posts.id, {post_bytes}
FROM (
    SELECT id, created_at
    FROM of_source
    WHERE (created_at, id) > ($2, $3) AND created_at < $4
    ORDER BY created_at, id
    LIMIT $5
) AS wanted
JOIN posts ON posts.id = wanted.id
ORDER BY posts.created_at, posts.id
