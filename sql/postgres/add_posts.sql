INSERT INTO posts ({new_post_columns}, is_page)
SELECT {added.new_post_columns}, added.is_page
FROM unnest({$1.. new_post_columns[]}, $10::boolean[]) WITH ORDINALITY AS added ({new_post_columns}, is_page, place)
ORDER BY added.place
ON CONFLICT (source_id, content_hash) DO NOTHING
RETURNING id, source_id
