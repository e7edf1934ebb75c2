DELETE FROM full_text_queue
WHERE post_id = $1
