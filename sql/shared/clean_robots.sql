DELETE FROM robots
WHERE origin IN (
    SELECT origin FROM robots
    WHERE fetched_at < $1
    ORDER BY fetched_at
    LIMIT $2
)
-- A robots.txt that is fetched again meanwhile stays.
AND fetched_at < $1
