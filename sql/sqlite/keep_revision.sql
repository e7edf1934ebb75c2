-- Before the edit.
INSERT INTO post_revisions (post_id, revision, stored_at, {revision_columns})
SELECT id, revision, coalesce(changed_at, created_at), {revision_columns} FROM posts WHERE id = $1
