INSERT INTO robots (origin, fetched_at, rules)
VALUES ($1, $2, $3)
ON CONFLICT (origin) DO UPDATE SET fetched_at = excluded.fetched_at, rules = excluded.rules
