SELECT host, min(next_at) AS next_at
FROM full_text_queue
GROUP BY host
ORDER BY min(next_at), host
LIMIT $1
