SELECT host, last_asked_at, held_until, held_reason, breaker_failures, breaker_openings, breaker_open_until
FROM hosts
WHERE host > $1
ORDER BY host
LIMIT $2
