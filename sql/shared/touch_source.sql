-- The first parameter is the source, the second the version that was seen or null, the third the moment. The validators go:
-- they vouch for what somebody was given who asked in another way.
UPDATE sources SET version = version + 1, updated_at = $3, etag = NULL, last_modified = NULL
WHERE id = $1 AND version = coalesce($2, version)
RETURNING version
