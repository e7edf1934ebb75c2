UPDATE full_text_queue
SET next_at = next_at + (CAST($2 AS timestamptz) - CAST($1 AS timestamptz))
WHERE (next_at > $1 OR next_at > $2) AND slot >> 8 = ANY ($3::integer[])
