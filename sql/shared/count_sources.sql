-- A source that is both disabled and resting is disabled.
SELECT count(*), count(*) FILTER (WHERE NOT enabled), count(*) FILTER (WHERE enabled AND feed_disabled_at IS NOT NULL),
       count(*) FILTER (WHERE enabled AND feed_disabled_at IS NULL AND consecutive_failures > 0)
FROM sources
