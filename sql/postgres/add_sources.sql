-- Concurrent inserts take a lock one after the other: two lists with the same sources in another order would deadlock.
INSERT INTO sources (version, created_at, updated_at, host, {settings_columns})
SELECT 1, added.created_at, added.created_at, added.host, {added.settings_columns}
FROM unnest($1::timestamptz[], $2::text[], {$3.. settings_columns[]})
    WITH ORDINALITY AS added (created_at, host, {settings_columns}, place)
CROSS JOIN (SELECT pg_advisory_xact_lock(7377267653211904)) AS turn
ORDER BY added.place
ON CONFLICT DO NOTHING
RETURNING id, podcast_id, type, url
