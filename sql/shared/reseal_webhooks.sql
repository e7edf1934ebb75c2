-- $2 is the ciphertext that was read before: what was stored anew meanwhile stays unchanged.
UPDATE webhooks SET sealed = $3 WHERE id = $1 AND sealed = $2
