-- The newest posts with one of these contents, stored or removed; a bounded number of each.
SELECT candidate.source_id, post.*
FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bytea[]) AS given (source_id, content_hash)) AS candidate
CROSS JOIN LATERAL (
    SELECT id, entry_key, content_hash, url, published_at, title, revision, changed_at
    FROM posts
    WHERE posts.source_id = candidate.source_id AND posts.content_hash = candidate.content_hash
    ORDER BY id DESC
    LIMIT 64
) AS post
UNION ALL
SELECT candidate.source_id, cleaned.*
FROM (SELECT DISTINCT * FROM unnest($1::bigint[], $2::bytea[]) AS given (source_id, content_hash)) AS candidate
CROSS JOIN LATERAL (
    SELECT NULL::bigint, nullif(entry_key, 0), content_hash, NULL::text, NULL::timestamptz, NULL::text, 0::bigint, NULL::timestamptz
    FROM cleaned_posts
    WHERE cleaned_posts.source_id = candidate.source_id AND cleaned_posts.content_hash = candidate.content_hash
    LIMIT 64
) AS cleaned
