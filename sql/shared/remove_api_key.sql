DELETE FROM api_keys WHERE user_id = $1 AND provider = $2
