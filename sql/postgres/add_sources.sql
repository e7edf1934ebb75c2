-- Whoever adds takes turns by the lock's number: two lists with the same sources in another order would deadlock.
INSERT INTO sources (
    version, created_at, updated_at,
    podcast_id, type, url, title, poll_interval_minutes, poll_delay_seconds, max_failures, max_backoff_hours,
    host
)
SELECT 1, added.created_at, added.created_at,
    added.podcast_id, added.type, added.url, added.title, added.poll_interval_minutes, added.poll_delay_seconds,
    added.max_failures, added.max_backoff_hours, added.host
FROM unnest(
    $1::timestamptz[],
    $2::bigint[],
    $3::text[],
    $4::text[],
    $5::text[],
    $6::bigint[],
    $7::bigint[],
    $8::bigint[],
    $9::bigint[],
    $10::text[]
) WITH ORDINALITY AS added (
    created_at, podcast_id, type, url, title, poll_interval_minutes, poll_delay_seconds, max_failures,
    max_backoff_hours, host, place
)
CROSS JOIN (SELECT pg_advisory_xact_lock(7377267653211904)) AS turn
ORDER BY added.place
ON CONFLICT DO NOTHING
RETURNING id, podcast_id, type, url
