INSERT INTO posts ({new_post_columns}, is_page)
SELECT {added.new_post_columns}, sources.type = 'website'
FROM unnest({$1.. new_post_columns[]}) WITH ORDINALITY AS added ({new_post_columns}, place)
JOIN sources ON sources.id = added.source_id
ORDER BY added.place
ON CONFLICT (source_id, content_hash) DO NOTHING
RETURNING id, source_id
