-- The newest posts that an earlier version stored, without keys; a bounded number for each source.
SELECT given.source_id, post.*
FROM (SELECT DISTINCT unnest($1::bigint[]) AS source_id) AS given
CROSS JOIN LATERAL (
    SELECT id, entry_key, content_hash, url, published_at, title, revision, changed_at
    FROM posts
    WHERE posts.source_id = given.source_id AND entry_key IS NULL
    ORDER BY id DESC
    LIMIT 1000
) AS post
