SELECT
    hour,
    outcome,
    CAST(sum(polls) AS bigint),
    CAST(sum(new_posts) AS bigint),
    CAST(sum(updated_posts) AS bigint),
    CAST(sum(bytes) AS bigint),
    CAST(sum(duration_ms) AS bigint)
FROM poll_hours
WHERE hour >= $1
GROUP BY hour, outcome
ORDER BY hour, outcome
