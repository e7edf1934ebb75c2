-- Ciphertexts are unique, so the old one detects a concurrent change. The changed webhook is tried at once.
UPDATE webhooks SET
    url = $3, sealed = $4,
    label = CASE WHEN $5 THEN $6 ELSE label END,
    format = coalesce($7, format),
    event_types = CASE WHEN $8 THEN $9 ELSE event_types END,
    rotated_at = CASE WHEN $10 THEN $11 ELSE rotated_at END,
    failures = 0, retry_at = NULL
WHERE id = $1 AND sealed = $2
