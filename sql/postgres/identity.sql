-- Where the tables are: the cluster, the database, the table, and the timeline, which changes when a cluster is restored
-- to an earlier moment or a standby takes over.
SELECT concat_ws('/',
    (SELECT system_identifier FROM pg_control_system()),
    (SELECT oid FROM pg_database WHERE datname = current_database()),
    'posts'::regclass::oid,
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))
