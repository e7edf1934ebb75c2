-- Only while the post has the content that its page was fetched for.
UPDATE posts SET
    text = coalesce($3, text), html = CASE WHEN $3 IS NULL THEN html ELSE $4 END, text_origin = $5,
    full_text_error = $6, changed_at = $7, changed_number = $8
WHERE id = $1 AND content_hash = $2 AND text_origin = 'feed_pending'
