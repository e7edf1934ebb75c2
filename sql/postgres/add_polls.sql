INSERT INTO polls (id, source_id, previous_id, {new_poll_columns})
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], {$4.. new_poll_columns[]})
