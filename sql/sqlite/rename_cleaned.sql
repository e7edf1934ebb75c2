UPDATE OR IGNORE cleaned_posts SET entry_key = $4, last_seen_at = $5
WHERE source_id = $1 AND content_hash = $2 AND entry_key = $3
