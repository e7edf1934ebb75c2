INSERT INTO nodes (node_id, name, boot, version, settings, expires_at)
SELECT $1, $2, $3, $4, $5, clock_timestamp() + lease FROM fleet
