-- Only while the post has the content that its page was fetched for. Readers are told in the same statement, so that
-- nothing but the commit follows it.
WITH changed AS (
    UPDATE posts SET
        text = coalesce($3, text), html = CASE WHEN $3::text IS NULL THEN html ELSE $4 END, text_origin = $5,
        full_text_error = $6, changed_at = $7, changed_number = nextval(pg_get_serial_sequence('posts', 'id'))
    WHERE id = $1 AND content_hash = $2 AND text_origin = 'feed_pending'
    RETURNING changed_number
),
told AS MATERIALIZED (
    SELECT pg_notify('feedwarden_posts', format(
        '{"highest_id":0,"count":0,"highest_change_number":%s,"changed":%s}', max(changed_number), count(*)))
    FROM changed
    HAVING count(*) > 0
)
SELECT changed_number FROM changed CROSS JOIN told
