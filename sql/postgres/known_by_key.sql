-- Posts with one of these keys, stored or removed; with their details if their content is another one.
SELECT source_id, post.id, entry_key, post.content_hash,
    CASE WHEN post.content_hash <> candidate.content_hash THEN post.url END,
    CASE WHEN post.content_hash <> candidate.content_hash THEN post.published_at END,
    CASE WHEN post.content_hash <> candidate.content_hash THEN post.title END,
    post.revision, post.changed_at
FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS candidate (source_id, entry_key, content_hash)
JOIN posts AS post USING (source_id, entry_key)
UNION ALL
SELECT source_id, NULL, entry_key, cleaned.content_hash, NULL, NULL, NULL, 0, NULL
FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS candidate (source_id, entry_key, content_hash)
JOIN cleaned_posts AS cleaned USING (source_id, entry_key)
