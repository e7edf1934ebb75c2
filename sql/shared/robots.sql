SELECT origin, fetched_at, rules
FROM robots
WHERE origin = $1
