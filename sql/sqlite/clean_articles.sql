-- An article made of a page counts from when it was added: the date of a page says nothing about its age.
DELETE FROM articles
WHERE id IN (
    SELECT id FROM articles
    WHERE is_processed = 0 AND published_at < $1
        AND (
            created_at < $1
            OR NOT EXISTS (
                SELECT 1
                FROM post_articles
                JOIN posts ON posts.id = post_articles.post_id
                WHERE post_articles.article_id = articles.id AND posts.is_page = 1
            )
        )
    ORDER BY published_at
    LIMIT $2
)
