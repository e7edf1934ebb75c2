SELECT user_id, provider, sealed
FROM api_keys
WHERE (user_id, provider) > ($1, $2)
ORDER BY user_id, provider
LIMIT $3
