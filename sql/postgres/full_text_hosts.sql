SELECT host, min(next_at) AS next_at
FROM full_text_queue
WHERE slot >> 8 = ANY ($2::integer[])
GROUP BY host
ORDER BY min(next_at), host
LIMIT $1
