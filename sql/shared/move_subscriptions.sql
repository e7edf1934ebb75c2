-- Leases and retries keep their length.
UPDATE websub_subscriptions
SET next_attempt_at = next_attempt_at + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz)),
    verified_at = verified_at + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz)),
    asked_at = asked_at + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz))
