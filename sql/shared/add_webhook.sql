-- From now on: what was stored or changed before is not sent. The column has the last change number.
INSERT INTO webhooks (url, sealed, label, created_at, format, event_types, last_post_id)
VALUES ($1, $2, $3, $4, $5, $6, coalesce((
    SELECT max(number)
    FROM (
        SELECT max(id) AS number FROM posts
        UNION ALL
        SELECT max(changed_number) AS number FROM posts WHERE changed_number IS NOT NULL
        UNION ALL
        SELECT max(number) AS number FROM events
    ) AS numbers
), 0))
RETURNING id
