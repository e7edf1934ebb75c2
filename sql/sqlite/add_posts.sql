-- A key that is stored already is left alone: the same poll may be settled twice.
INSERT INTO posts ({new_post_columns})
VALUES ({$1.. new_post_columns})
ON CONFLICT (source_id, entry_key) DO NOTHING
