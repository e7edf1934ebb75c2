SELECT {post_columns}, queued_at, attempts
FROM full_text_queue
JOIN posts ON posts.id = post_id
WHERE host = $1 AND next_at <= $2
ORDER BY next_at, post_id
LIMIT 1
