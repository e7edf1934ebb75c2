-- $3 is the ciphertext that was read before: a key that was replaced or removed meanwhile stays unchanged.
UPDATE api_keys SET sealed = $4, updated_at = $5 WHERE user_id = $1 AND provider = $2 AND sealed = $3
