-- What a node heard of hosts that are no longer its own. Nothing goes back: their owner may know more.
INSERT INTO hosts ({host_columns})
SELECT {asked.host_columns}
FROM unnest({$1.. host_columns[]}) AS asked ({host_columns})
ORDER BY asked.host COLLATE "C"
ON CONFLICT (host) DO UPDATE SET
    last_asked_at = greatest(hosts.last_asked_at, excluded.last_asked_at),
    held_reason = CASE WHEN excluded.held_until > hosts.held_until OR hosts.held_until IS NULL THEN excluded.held_reason ELSE hosts.held_reason END,
    held_until = greatest(hosts.held_until, excluded.held_until)
