SELECT {host_columns}
FROM hosts
WHERE host = $1
