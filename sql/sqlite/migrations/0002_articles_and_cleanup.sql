-- What the pipeline downstream makes of posts, and the memory of posts that were cleaned up.

CREATE TABLE articles (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    podcast_id    INTEGER REFERENCES podcasts (id),
    title         TEXT    NOT NULL,
    body          TEXT    NOT NULL,
    url           TEXT,
    published_at  INTEGER,
    created_at    INTEGER NOT NULL,
    is_processed  INTEGER NOT NULL DEFAULT 0 CHECK (is_processed IN (0, 1))
) STRICT;

CREATE INDEX articles_to_clean ON articles (published_at) WHERE is_processed = 0;
CREATE INDEX articles_by_podcast ON articles (podcast_id) WHERE podcast_id IS NOT NULL;

CREATE TABLE post_articles (
    article_id  INTEGER NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    post_id     INTEGER NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    PRIMARY KEY (article_id, post_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX post_articles_by_post ON post_articles (post_id);

-- Whoever links and unlinks, the post knows whether it is linked.
CREATE TRIGGER post_linked AFTER INSERT ON post_articles BEGIN
    UPDATE posts SET is_linked = 1 WHERE id = NEW.post_id AND is_linked = 0;
END;

CREATE TRIGGER post_unlinked AFTER DELETE ON post_articles BEGIN
    UPDATE posts SET is_linked = 0
    WHERE id = OLD.post_id AND NOT EXISTS (SELECT 1 FROM post_articles WHERE post_id = OLD.post_id);
END;

-- An entry that is still in its feed after its post was cleaned up must not come back as a new post.
CREATE TABLE cleaned_posts (
    source_id     INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    content_hash  BLOB    NOT NULL CHECK (length(content_hash) = 32),
    last_seen_at  INTEGER NOT NULL,
    PRIMARY KEY (source_id, content_hash)
) STRICT, WITHOUT ROWID;

CREATE INDEX cleaned_posts_by_age ON cleaned_posts (last_seen_at);
