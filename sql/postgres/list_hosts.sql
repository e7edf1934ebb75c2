SELECT host, last_asked_at, held_until, held_reason
FROM hosts
WHERE host > $1
ORDER BY host
LIMIT $2
