-- A publisher that drops the date of an entry does not undo it. Readers are told in the same statement, so that nothing but
-- the commit follows it.
WITH changed AS (
    UPDATE posts SET
        ({content_columns}) = ({edited.content_columns}), content_hash = edited.content_hash,
        published_at = coalesce(edited.published_at, posts.published_at), changed_at = edited.changed_at,
        revision = posts.revision + 1, changed_number = nextval(pg_get_serial_sequence('posts', 'id'))
    FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::bytea[], {$5.. content_columns[]})
        AS edited (id, changed_at, published_at, content_hash, {content_columns})
    WHERE posts.id = edited.id
    RETURNING posts.changed_number
),
told AS MATERIALIZED (
    SELECT pg_notify('feedwarden_posts', format(
        '{"highest_id":0,"count":0,"highest_change_number":%s,"changed":%s}', max(changed_number), count(*)))
    FROM changed
    HAVING count(*) > 0
)
SELECT count(*) FROM told
