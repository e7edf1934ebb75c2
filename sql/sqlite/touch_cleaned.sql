-- Once a day is enough to know that an entry is still in its feed.
UPDATE cleaned_posts SET last_seen_at = $3
WHERE source_id = $1 AND entry_key = $2 AND last_seen_at < $3 - 86400000000
