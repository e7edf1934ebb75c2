-- A source that is both disabled and resting is disabled.
SELECT count(*), coalesce(sum(enabled = 0), 0), coalesce(sum(enabled = 1 AND feed_disabled_at IS NOT NULL), 0),
       coalesce(sum(enabled = 1 AND feed_disabled_at IS NULL AND consecutive_failures > 0), 0)
FROM sources
