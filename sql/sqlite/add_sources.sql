INSERT INTO sources (
    version, created_at, updated_at,
    podcast_id, type, url, title, poll_interval_minutes, poll_delay_seconds, max_failures, max_backoff_hours,
    host
)
VALUES (1, ?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT DO NOTHING
RETURNING id
