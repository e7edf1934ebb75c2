SELECT {host_columns}
FROM hosts
WHERE host IN (SELECT value FROM json_each($1))
