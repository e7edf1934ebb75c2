-- $1 is the source, $2 the version that was seen or null, $3 the moment. Validators and freshness belong to responses to
-- other credentials; the first poll with the new ones does not wait for the interval.
UPDATE sources SET
    version = version + 1, updated_at = $3, etag = NULL, last_modified = NULL, fresh_until = NULL, poll_requested_at = $3
WHERE id = $1 AND version = coalesce($2, version)
RETURNING version
