INSERT INTO sources (version, created_at, updated_at, host, {settings_columns})
VALUES (1, $1, $1, $2, {$3.. settings_columns})
ON CONFLICT DO NOTHING
RETURNING id
