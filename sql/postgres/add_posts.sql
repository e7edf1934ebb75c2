-- A key that is stored already is left alone: the same poll may be settled twice.
INSERT INTO posts ({new_post_columns})
SELECT {added.new_post_columns}
FROM unnest({$1.. new_post_columns[]}) WITH ORDINALITY AS added ({new_post_columns}, place)
ORDER BY added.place
ON CONFLICT (source_id, entry_key) DO NOTHING
RETURNING id, source_id
