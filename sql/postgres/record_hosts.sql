-- What was asked last cannot have been asked earlier than is known already; a hold can be lifted.
-- Sorted, so that two nodes never wait for each other's rows crosswise.
INSERT INTO hosts ({host_columns})
SELECT {asked.host_columns}
FROM unnest({$1.. host_columns[]}) AS asked ({host_columns})
ORDER BY asked.host COLLATE "C"
ON CONFLICT (host) DO UPDATE SET
    last_asked_at = greatest(hosts.last_asked_at, excluded.last_asked_at),
    held_until = excluded.held_until,
    held_reason = excluded.held_reason,
    breaker_failures = excluded.breaker_failures,
    breaker_openings = excluded.breaker_openings,
    breaker_open_until = excluded.breaker_open_until
