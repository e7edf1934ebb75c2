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
-- Runs of consecutive numbers: what is returned must fit into the buffers of the connection, or a client that has stopped
-- reading would keep its turn among those that store posts.
SELECT numbered.source_id, min(numbered.id), max(numbered.id)
FROM (
    SELECT id, source_id, id - row_number() OVER (PARTITION BY source_id ORDER BY id) AS run
    FROM added
) AS numbered
CROSS JOIN told
GROUP BY numbered.source_id, numbered.run
ORDER BY min(numbered.id)
