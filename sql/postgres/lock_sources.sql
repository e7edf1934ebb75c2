-- Locked in one order, so that two nodes that settle the same sources wait for each other instead of deadlocking.
SELECT id, version, last_poll_id, nextval('poll_ids')
FROM sources
WHERE id = ANY ($1::bigint[])
ORDER BY id
FOR NO KEY UPDATE
