-- $1 is the source, $2 the version that was seen or null, $3 the moment. Clears the validators, which belong to
-- responses to other credentials.
UPDATE sources SET version = version + 1, updated_at = $3, etag = NULL, last_modified = NULL
WHERE id = $1 AND version = coalesce($2, version)
RETURNING version
