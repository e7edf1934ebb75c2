-- The newest first. The texts of newer ones are counted, so that the answer ends after about $2 bytes.
SELECT revision, stored_at, {revision_columns}
FROM post_revisions
WHERE post_id = $1 AND revision IN (
    SELECT revision
    FROM (
        SELECT revision, coalesce(sum({post_bytes}) OVER (
            ORDER BY revision DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS newer_bytes
        FROM post_revisions
        WHERE post_id = $1
    ) AS sizes
    WHERE newer_bytes < CAST($2 AS bigint)
)
ORDER BY revision DESC
