-- Unless an edit made the post wait for its page again. The post is locked first: an edit that is not committed yet is
-- waited for and seen. Without the lock, the row that the edit has queued would be removed by what was true before it.
WITH post AS MATERIALIZED (SELECT text_origin FROM posts WHERE id = $1 FOR SHARE)
DELETE FROM full_text_queue
WHERE post_id = $1 AND NOT EXISTS (SELECT FROM post WHERE text_origin = 'feed_pending')
