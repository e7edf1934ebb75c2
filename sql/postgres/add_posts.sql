-- A key that is stored already is left alone: the same poll may be settled twice. Readers are told in the same statement,
-- so that nothing but the commit follows it.
WITH added AS (
    INSERT INTO posts ({new_post_columns})
    SELECT {added.new_post_columns}
    FROM unnest({$1.. new_post_columns[]}) WITH ORDINALITY AS added ({new_post_columns}, place)
    ORDER BY added.place
    ON CONFLICT (source_id, entry_key) DO NOTHING
    RETURNING id, source_id
),
told AS MATERIALIZED (
    SELECT pg_notify('feedwarden_posts', format(
        '{"highest_id":%s,"count":%s,"highest_change_number":%s,"changed":0}', max(id), count(*), max(id)))
    FROM added
    HAVING count(*) > 0
)
SELECT id, source_id FROM added CROSS JOIN told ORDER BY id
