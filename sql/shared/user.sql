SELECT users.id, name, created_at, updated_at
FROM users
LEFT JOIN api_keys ON user_id = users.id AND provider = 'x'
WHERE users.id = $1
