SELECT {host_columns} FROM hosts
WHERE last_asked_at > $1
LIMIT $2
