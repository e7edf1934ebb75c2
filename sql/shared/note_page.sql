-- Notes an attempt to fetch a page of source $1 at its last poll that read something: $2 is 1 for a success, $3 is 1 for a
-- failure with error $4.
WITH RECURSIVE chain (id, place) AS (
    SELECT last_poll_id, 1 FROM sources WHERE sources.id = $1
    UNION ALL
    SELECT polls.previous_id, chain.place + 1
    FROM chain
    JOIN polls ON polls.id = chain.id AND polls.source_id = $1
    WHERE chain.place < 100 AND polls.previous_id < polls.id AND polls.entries IS NULL
)
UPDATE polls SET
    full_texts = coalesce(full_texts, 0) + $2,
    full_text_failures = coalesce(full_text_failures, 0) + $3,
    full_text_error = coalesce($4, full_text_error)
WHERE id = (SELECT max(polls.id) FROM chain JOIN polls ON polls.id = chain.id WHERE polls.entries IS NOT NULL)
    AND source_id = $1
