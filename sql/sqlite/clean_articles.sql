DELETE FROM articles
WHERE id IN (
    SELECT id FROM articles
    WHERE is_processed = 0 AND published_at < ?1
    ORDER BY published_at
    LIMIT ?2
)
