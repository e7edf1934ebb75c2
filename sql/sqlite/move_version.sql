UPDATE sources SET version = version + 1, updated_at = $2 WHERE id = $1
