-- Posts with one of these keys, stored or removed.
SELECT source_id, post.id, entry_key, post.content_hash, NULL::text, NULL::timestamptz, post.revision, post.changed_at
FROM unnest($1::bigint[], $2::bigint[]) AS candidate (source_id, entry_key)
JOIN posts AS post USING (source_id, entry_key)
UNION ALL
SELECT source_id, NULL, entry_key, cleaned.content_hash, NULL, NULL, 0, NULL
FROM unnest($1::bigint[], $2::bigint[]) AS candidate (source_id, entry_key)
JOIN cleaned_posts AS cleaned USING (source_id, entry_key)
