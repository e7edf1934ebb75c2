-- What was asked last cannot have been asked earlier than is known already; a hold can be lifted.
-- Sorted, so that two nodes never wait for each other's rows crosswise.
INSERT INTO hosts (host, last_asked_at, held_until, held_reason)
SELECT host, last_asked_at, held_until, held_reason
FROM unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::text[])
    AS asked (host, last_asked_at, held_until, held_reason)
ORDER BY host COLLATE "C"
ON CONFLICT (host) DO UPDATE SET
    last_asked_at = greatest(hosts.last_asked_at, excluded.last_asked_at),
    held_until = excluded.held_until,
    held_reason = excluded.held_reason
