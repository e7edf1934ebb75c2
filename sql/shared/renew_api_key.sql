-- The third parameter is what was read before: a key that somebody replaced or removed meanwhile is left alone.
UPDATE api_keys SET sealed = $4, updated_at = $5 WHERE user_id = $1 AND provider = $2 AND sealed = $3
