-- The first node that sees a new timeline of the server. Commits may be lost with the old one: no node makes requests for a
-- lease, and numbers of posts that readers may have seen are not issued again.
WITH turned AS (
    UPDATE fleet SET timeline = $1, quiet_until = clock_timestamp() + lease WHERE timeline <> $1 RETURNING 1
)
SELECT setval(pg_get_serial_sequence('posts', 'id'), nextval(pg_get_serial_sequence('posts', 'id')) + 1000000) FROM turned
