-- The first parameter is the user who has a key now, the second the moment, the third the type that the key is for.
UPDATE sources SET poll_requested_at = $2, version = version + 1, updated_at = $2
WHERE type = $3 AND enabled AND last_error_type = 'unauthorized'
  AND podcast_id IN (SELECT id FROM podcasts WHERE user_id = $1)
RETURNING id
