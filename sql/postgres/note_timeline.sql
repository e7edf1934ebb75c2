-- The timeline on which the fleet was begun.
UPDATE fleet SET timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) WHERE timeline = ''
