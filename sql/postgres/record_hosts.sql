-- What was asked last cannot have been asked earlier than is known already; a hold can be lifted.
-- Sorted, so that two nodes never wait for each other's rows crosswise.
INSERT INTO hosts (host, last_asked_at, held_until, held_reason, breaker_failures, breaker_openings, breaker_open_until)
SELECT host, last_asked_at, held_until, held_reason, breaker_failures, breaker_openings, breaker_open_until
FROM unnest(
    $1::text[], $2::timestamptz[], $3::timestamptz[], $4::text[], $5::bigint[], $6::bigint[], $7::timestamptz[]
) AS asked (host, last_asked_at, held_until, held_reason, breaker_failures, breaker_openings, breaker_open_until)
ORDER BY host COLLATE "C"
ON CONFLICT (host) DO UPDATE SET
    last_asked_at = greatest(hosts.last_asked_at, excluded.last_asked_at),
    held_until = excluded.held_until,
    held_reason = excluded.held_reason,
    breaker_failures = excluded.breaker_failures,
    breaker_openings = excluded.breaker_openings,
    breaker_open_until = excluded.breaker_open_until
