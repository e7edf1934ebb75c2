UPDATE full_text_queue SET next_at = $2
WHERE host = $1 AND next_at < $2
