-- Whether a person enabled it meanwhile is not for a delivery to say: it can only disable. $8 is where the delivery began:
-- another node may have gone on from there.
UPDATE webhooks
SET last_post_id = $2, failures = $3, retry_at = $4, last_error = $5,
    last_delivered_at = coalesce($6, last_delivered_at),
    enabled = (enabled AND CAST($7 AS text) IS NULL), disabled_reason = coalesce($7, disabled_reason)
WHERE id = $1 AND last_post_id = $8
