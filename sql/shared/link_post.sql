INSERT INTO post_articles (article_id, post_id)
VALUES ($1, $2)
ON CONFLICT DO NOTHING
