INSERT INTO events (number, {event_columns})
VALUES ($1, {$2.. event_columns})
