-- One step at the front of the history: of its oldest $4 rows, those from before $1, those from a clock that was ahead
-- (after $2), and those beyond the newest $3. The newest row stays, so that no id is given twice.
DELETE FROM polls
WHERE id IN (SELECT id FROM polls ORDER BY id LIMIT $4)
    AND id < (SELECT max(id) FROM polls)
    AND (at < $1 OR at > $2 OR id <= (SELECT max(id) FROM polls) - $3)
