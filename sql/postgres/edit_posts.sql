-- A publisher that drops the date of an entry does not undo it. The replaced content becomes a revision, and the oldest
-- ones go: every part of the statement sees the posts as they were before it. Readers are told in the same statement, so
-- that nothing but the commit follows it.
WITH edited AS MATERIALIZED (
    SELECT *
    FROM unnest(
        $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::bytea[], $5::bigint[], {$6.. content_columns[]})
        AS edited (id, changed_at, published_at, content_hash, revisions_max, {content_columns})
),
kept AS (
    INSERT INTO post_revisions (post_id, revision, stored_at, {revision_columns})
    SELECT posts.id, posts.revision, coalesce(posts.changed_at, posts.created_at), {posts.revision_columns}
    FROM edited
    JOIN posts ON posts.id = edited.id
    WHERE edited.revisions_max > 0
),
dropped AS (
    DELETE FROM post_revisions
    USING edited
    JOIN posts ON posts.id = edited.id
    WHERE post_revisions.post_id = edited.id AND post_revisions.revision <= posts.revision - edited.revisions_max
),
changed AS (
    UPDATE posts SET
        ({content_columns}) = ({edited.content_columns}), content_hash = edited.content_hash,
        published_at = coalesce(edited.published_at, posts.published_at), changed_at = edited.changed_at,
        revision = posts.revision + 1, changed_number = nextval(pg_get_serial_sequence('posts', 'id'))
    FROM edited
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
