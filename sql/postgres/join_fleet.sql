INSERT INTO nodes (node_id, name, boot, booted_for, version, settings, expires_at)
SELECT $1, $2, $3, $4, $5, $6, clock_timestamp() + lease FROM fleet
