-- What edited posts said before: the edit of a post copies its content here, and drops the oldest rows of the post beyond
-- posts.revisions-max. Most posts are never edited and have no row. A revision has the number that the post had with this
-- content, and stored_at is when the post got it.

CREATE TABLE post_revisions (
    post_id       bigint      NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    revision      bigint      NOT NULL,
    stored_at     timestamptz NOT NULL,
    published_at  timestamptz,
    title         text        NOT NULL,
    url           text,
    author        text,
    summary       text,
    text          text        NOT NULL,
    html          text,
    PRIMARY KEY (post_id, revision)
);

-- As for posts.
DO $$
BEGIN
    ALTER TABLE post_revisions ALTER COLUMN text SET COMPRESSION lz4;
    ALTER TABLE post_revisions ALTER COLUMN html SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;
