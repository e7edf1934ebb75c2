SELECT number, {event_columns}
FROM events
WHERE number >= $1 AND number <= $2
ORDER BY number
