-- What programs downstream may rely on: a view whose columns keep their names and meanings (docs/downstream.md). There is
-- one writer at a time, so the numbers of posts become visible in their order.

-- URLs of sources are left out, since they may hold credentials.
CREATE VIEW posts_v1 AS
SELECT
    posts.id,
    posts.source_id,
    sources.type AS source_type,
    sources.title AS source_title,
    posts.title,
    posts.body,
    posts.url,
    posts.author,
    posts.published_at,
    posts.created_at,
    lower(hex(posts.content_hash)) AS content_hash
FROM posts
JOIN sources ON sources.id = posts.source_id;
