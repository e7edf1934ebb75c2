UPDATE posts SET full_text_error = $3
WHERE id = $1 AND content_hash = $2 AND text_origin = 'feed_pending'
