-- One step at the front of the table: of its oldest $3 rows, those from before $1 and those beyond the newest $2.
DELETE FROM events
WHERE number IN (SELECT number FROM events ORDER BY number LIMIT $3)
    AND (at < $1 OR number <= (SELECT number FROM events ORDER BY number DESC LIMIT 1 OFFSET $2))
RETURNING number
