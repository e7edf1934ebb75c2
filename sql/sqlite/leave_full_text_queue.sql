-- Unless an edit made the post wait for its page again.
DELETE FROM full_text_queue
WHERE post_id = $1 AND NOT EXISTS (SELECT 1 FROM posts WHERE id = $1 AND text_origin = 'feed_pending')
