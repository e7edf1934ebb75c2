-- $3 is the ciphertext that was read before: what was stored anew meanwhile stays unchanged.
UPDATE api_keys SET sealed = $4 WHERE user_id = $1 AND provider = $2 AND sealed = $3
