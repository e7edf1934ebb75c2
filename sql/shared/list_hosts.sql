SELECT {host_columns}
FROM hosts
WHERE host > $1
ORDER BY host
LIMIT $2
