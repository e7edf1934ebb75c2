-- What the pipeline downstream makes of posts, and the memory of posts that were cleaned up.

CREATE TABLE articles (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    podcast_id    bigint      REFERENCES podcasts (id),
    title         text        NOT NULL,
    body          text        NOT NULL,
    url           text,
    published_at  timestamptz,
    created_at    timestamptz NOT NULL,
    is_processed  boolean     NOT NULL DEFAULT false
);

CREATE INDEX articles_to_clean ON articles (published_at) WHERE NOT is_processed;
CREATE INDEX articles_by_podcast ON articles (podcast_id) WHERE podcast_id IS NOT NULL;

CREATE TABLE post_articles (
    article_id  bigint NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    post_id     bigint NOT NULL REFERENCES posts (id) ON DELETE CASCADE,
    PRIMARY KEY (article_id, post_id)
);

CREATE INDEX post_articles_by_post ON post_articles (post_id);

-- Whoever links and unlinks, the post knows whether it is linked.
CREATE FUNCTION note_link() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE posts SET is_linked = true WHERE id = NEW.post_id AND NOT is_linked;
    ELSE
        UPDATE posts SET is_linked = false
        WHERE id = OLD.post_id AND NOT EXISTS (SELECT 1 FROM post_articles WHERE post_id = OLD.post_id);
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER post_linked AFTER INSERT OR DELETE ON post_articles FOR EACH ROW EXECUTE FUNCTION note_link();

-- An entry that is still in its feed after its post was cleaned up must not come back as a new post.
CREATE TABLE cleaned_posts (
    source_id     bigint      NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    content_hash  bytea       NOT NULL CHECK (length(content_hash) = 32),
    last_seen_at  timestamptz NOT NULL,
    PRIMARY KEY (source_id, content_hash)
);

CREATE INDEX cleaned_posts_by_age ON cleaned_posts (last_seen_at);
