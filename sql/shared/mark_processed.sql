UPDATE articles SET is_processed = true WHERE id = $1
