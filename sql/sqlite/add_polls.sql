-- Adds nothing if the source has another version by now: the settlement is outdated then.
INSERT INTO polls (source_id, previous_id, {new_poll_columns})
SELECT id, last_poll_id, {$3.. new_poll_columns} FROM sources WHERE id = $1 AND version = $2
