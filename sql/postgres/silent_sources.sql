-- With $3, only sources whose silence has no event yet.
-- Sources that are polled without failures, and of which nothing new came since $1; the longest silent first. Ids of posts
-- follow the times at which they were stored, so the index of a source's ids tells whether it has a newer one.
WITH silent AS MATERIALIZED (
    SELECT id, since
    FROM (
        SELECT
            sources.id,
            coalesce(
                (SELECT posts.created_at FROM posts WHERE posts.source_id = sources.id ORDER BY posts.id DESC LIMIT 1),
                CASE WHEN last_seen_id ~ '^\d\d\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T[0-2]\d:[0-5]\d:[0-5]\d[.\d]*Z$'
                    THEN last_seen_id::timestamptz END,
                CASE WHEN EXISTS (SELECT 1 FROM cleaned_posts WHERE cleaned_posts.source_id = sources.id)
                    OR last_seen_id IS NOT NULL THEN last_read_at END,
                sources.created_at
            ) AS since
        FROM sources
        WHERE enabled AND feed_disabled_at IS NULL AND consecutive_failures = 0
            AND sources.created_at < $1 AND last_success_at >= $1
            AND (NOT $3 OR NOT EXISTS (SELECT 1 FROM silences WHERE silences.source_id = sources.id))
            AND coalesce(
                (SELECT max(posts.id) FROM posts WHERE posts.source_id = sources.id)
                    < (SELECT id FROM posts WHERE created_at >= $1 ORDER BY created_at, id LIMIT 1),
                true)
    ) AS quiet
    WHERE since < $1
)
SELECT {sources.source_columns}, longest.since, (SELECT count(*) FROM silent)
FROM (SELECT id, since FROM silent ORDER BY since, id LIMIT $2) AS longest
JOIN sources ON sources.id = longest.id
ORDER BY longest.since, longest.id
