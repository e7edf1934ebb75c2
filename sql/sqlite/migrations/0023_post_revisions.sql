-- What edited posts said before: the edit of a post copies its content here, and drops the oldest rows of the post beyond
-- posts.revisions-max. Most posts are never edited and have no row. A revision has the number that the post had with this
-- content, and stored_at is when the post got it.

CREATE TABLE post_revisions (
    post_id       INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    revision      INTEGER NOT NULL,
    stored_at     INTEGER NOT NULL,
    published_at  INTEGER,
    title         TEXT    NOT NULL,
    url           TEXT,
    author        TEXT,
    summary       TEXT,
    text          TEXT    NOT NULL,
    html          TEXT,
    PRIMARY KEY (post_id, revision)
) STRICT;
