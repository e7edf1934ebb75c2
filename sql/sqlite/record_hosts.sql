-- What was asked last cannot have been asked earlier than is known already; a hold can be lifted.
INSERT INTO hosts ({host_columns})
VALUES ({$1.. host_columns})
ON CONFLICT (host) DO UPDATE SET
    last_asked_at = max(coalesce(hosts.last_asked_at, excluded.last_asked_at),
                        coalesce(excluded.last_asked_at, hosts.last_asked_at)),
    held_until = excluded.held_until,
    held_reason = excluded.held_reason,
    breaker_failures = excluded.breaker_failures,
    breaker_openings = excluded.breaker_openings,
    breaker_open_until = excluded.breaker_open_until
