-- Before the edit: the content that it replaces is one of the $2 that stay.
DELETE FROM post_revisions WHERE post_id = $1 AND revision <= (SELECT revision FROM posts WHERE id = $1) - $2
