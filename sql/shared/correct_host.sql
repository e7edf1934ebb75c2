-- Times that a clock that was ahead has stored. Otherwise the last request never moves back.
UPDATE hosts
SET last_asked_at = $2, held_until = $3, breaker_open_until = $4
WHERE host = $1
