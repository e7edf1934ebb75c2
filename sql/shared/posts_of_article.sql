SELECT post_id
FROM post_articles
WHERE article_id = $1
ORDER BY post_id
