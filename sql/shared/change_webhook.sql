-- Ciphertexts are unique, so the old one detects a concurrent change. The changed webhook is tried at once.
UPDATE webhooks
SET url = $3, sealed = $4, label = CASE WHEN $5 THEN $6 ELSE label END, failures = 0, retry_at = NULL
WHERE id = $1 AND sealed = $2
