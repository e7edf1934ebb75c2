-- $2 is the ciphertext that was read before: what was stored anew meanwhile stays unchanged.
UPDATE source_access SET sealed = $3 WHERE source_id = $1 AND sealed = $2
