SELECT {host_columns}
FROM hosts
WHERE host = ANY ($1)
