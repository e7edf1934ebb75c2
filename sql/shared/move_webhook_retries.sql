UPDATE webhooks
SET retry_at = retry_at + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz))
WHERE retry_at > $1 OR retry_at > $2
