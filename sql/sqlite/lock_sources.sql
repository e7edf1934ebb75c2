SELECT version FROM sources WHERE id = ?1
