-- Runs under this name that have not ended.
SELECT node_id, boot, beat
FROM nodes
WHERE name = $1 AND ended_at IS NULL
ORDER BY node_id
FOR UPDATE
