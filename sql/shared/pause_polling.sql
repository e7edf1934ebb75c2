UPDATE daemon
SET paused_since = coalesce(paused_since, $1)
RETURNING paused_since
