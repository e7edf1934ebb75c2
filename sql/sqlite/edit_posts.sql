-- A publisher that drops the date of an entry does not undo it.
UPDATE posts SET
    changed_at = $2, published_at = coalesce($3, published_at), content_hash = $4, revision = revision + 1,
    changed_number = $5, ({content_columns}) = ({$6.. content_columns})
WHERE id = $1
