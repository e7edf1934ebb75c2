-- Pages that a clock that was ahead has queued are due now.
UPDATE full_text_queue
SET next_at = $1, queued_at = CASE WHEN queued_at > $1 THEN $1 ELSE queued_at END
WHERE next_at > $2 OR queued_at > $3
