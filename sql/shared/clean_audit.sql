-- Ids may have gaps, so at most this many records stay.
DELETE FROM audit
WHERE id IN (
    SELECT id
    FROM audit
    WHERE at < $1 OR id <= (SELECT max(id) FROM audit) - $2
    ORDER BY id
    LIMIT $3
)
