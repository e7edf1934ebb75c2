-- In the order given, after the turn of those that store posts was taken. The number of rows is returned.
WITH added AS (
    INSERT INTO events (number, {event_columns})
    SELECT nextval(pg_get_serial_sequence('posts', 'id')), {given.event_columns}
    FROM (
        SELECT * FROM unnest({$1.. event_columns[]}) WITH ORDINALITY AS listed ({event_columns}, place)
        ORDER BY place
    ) AS given
    RETURNING number
)
SELECT count(*) FROM added
