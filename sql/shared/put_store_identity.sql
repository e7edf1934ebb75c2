-- A backup that is used is none any more.
UPDATE daemon SET identity = $1, backed_up_at = NULL
