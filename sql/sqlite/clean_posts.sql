DELETE FROM posts WHERE id = $1 RETURNING source_id, content_hash, coalesce(entry_key, 0)
