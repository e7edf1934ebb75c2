SELECT max(number)
FROM (
    SELECT max(id) AS number FROM posts
    UNION ALL
    SELECT max(changed_number) AS number FROM posts WHERE changed_number IS NOT NULL
    UNION ALL
    SELECT max(number) AS number FROM events
) AS numbers
