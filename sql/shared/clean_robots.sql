DELETE FROM robots
WHERE origin IN (
    SELECT origin FROM robots
    WHERE fetched_at < $1
    ORDER BY fetched_at
    LIMIT $2
)
