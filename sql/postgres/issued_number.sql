SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('posts', 'id')::regclass), 0)
