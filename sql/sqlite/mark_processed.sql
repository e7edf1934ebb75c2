UPDATE articles SET is_processed = 1 WHERE id = ?1
