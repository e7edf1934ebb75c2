SELECT
    current_setting('server_version_num')::bigint, current_setting('server_version'), current_setting('server_encoding'),
    version(), pg_is_in_recovery()
