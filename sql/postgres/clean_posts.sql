DELETE FROM posts
WHERE id = ANY ($1::bigint[])
RETURNING source_id, content_hash, coalesce(entry_key, 0)
