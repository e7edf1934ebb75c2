-- SQLite takes the type of a cast that it does not know as a number.
UPDATE full_text_queue
SET next_at = next_at + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz))
WHERE next_at > $1 OR next_at > $2
