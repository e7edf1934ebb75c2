-- Runs under this name that have not ended.
SELECT node_id, boot, beat, booted_for
FROM nodes
WHERE name = $1 AND ended_at IS NULL
ORDER BY node_id
FOR UPDATE
