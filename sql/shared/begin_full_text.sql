-- The attempt counts before its requests, so that a page that ends the process is not fetched for ever.
UPDATE full_text_queue SET attempts = attempts + 1, next_at = $3
WHERE post_id = $1 AND attempts = $2
