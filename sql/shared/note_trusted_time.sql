UPDATE daemon SET trusted_at = $1
