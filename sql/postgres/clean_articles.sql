DELETE FROM articles
WHERE id IN (
    SELECT id FROM articles
    WHERE NOT is_processed AND published_at < $1
    ORDER BY published_at
    LIMIT $2
)
