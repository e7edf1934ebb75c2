-- Enabled sources that fail, by the kind of their last failure. The index sources_failing has their rows.
SELECT last_error_type, count(*) FROM sources
WHERE consecutive_failures > 0 AND enabled AND last_error_type IS NOT NULL
GROUP BY last_error_type
