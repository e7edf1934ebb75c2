-- Hosts that the process has in memory have moved there. After a step back, waits that are over would lie in the future.
UPDATE hosts
SET last_asked_at = CASE
        WHEN last_asked_at > $2 AND last_asked_at <= $1
        THEN last_asked_at + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz))
        ELSE last_asked_at
    END,
    held_until = CASE
        WHEN held_until > $1 OR held_until > $2
        THEN held_until + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz))
        ELSE held_until
    END,
    breaker_open_until = CASE
        WHEN breaker_open_until > $1 OR breaker_open_until > $2
        THEN breaker_open_until + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz))
        ELSE breaker_open_until
    END
WHERE (
        held_until > $1
        OR held_until > $2
        OR breaker_open_until > $1
        OR breaker_open_until > $2
        OR (last_asked_at > $2 AND last_asked_at <= $1)
    )
    AND host <> ALL ($3)
    AND slot >> 8 = ANY ($4::integer[])
