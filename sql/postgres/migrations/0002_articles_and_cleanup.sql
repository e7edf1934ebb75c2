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

-- An entry that is still in its feed after its post was cleaned up must not come back as a new post.
CREATE TABLE cleaned_posts (
    source_id     bigint      NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    content_hash  bytea       NOT NULL CHECK (length(content_hash) = 32),
    last_seen_at  timestamptz NOT NULL,
    PRIMARY KEY (source_id, content_hash)
);

CREATE INDEX cleaned_posts_by_age ON cleaned_posts (last_seen_at);
