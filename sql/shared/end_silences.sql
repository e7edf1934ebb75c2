-- Something new came of these sources since their silence was noted.
DELETE FROM silences
WHERE noted_at <= (
    SELECT posts.created_at
    FROM posts
    WHERE posts.source_id = silences.source_id
    ORDER BY posts.id DESC
    LIMIT 1
)
