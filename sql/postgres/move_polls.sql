-- Sources that were polled by the clock from before a step back: the waits that count from these times keep their length.
UPDATE sources
SET last_polled = last_polled + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz)),
    poll_requested_at = CASE
        WHEN poll_requested_at <= last_polled
        THEN poll_requested_at + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz))
        ELSE poll_requested_at
    END,
    retry_after = retry_after + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz)),
    fresh_until = fresh_until + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz)),
    feed_disabled_at = CASE
        WHEN feed_disabled_at >= $3
        THEN feed_disabled_at + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz))
        ELSE feed_disabled_at
    END,
    etag = CASE WHEN $5 THEN NULL ELSE etag END,
    last_modified = CASE WHEN $5 THEN NULL ELSE last_modified END
WHERE last_polled >= $3 AND last_polled <= $4 AND slot >> 8 = ANY ($6::integer[])
