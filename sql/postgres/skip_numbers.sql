SELECT setval(pg_get_serial_sequence('posts', 'id'), $1)
