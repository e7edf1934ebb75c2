-- Posts as publishers mean them. An entry is known by its key (rules::identity), not by its body alone: entries with equal
-- bodies are different posts, and a changed entry changes its post. Posts of earlier versions have no key; they get one
-- when their entry is met again (by URL or content).

ALTER TABLE posts RENAME COLUMN body TO text;
ALTER TABLE posts ADD COLUMN entry_key bigint;
ALTER TABLE posts ADD COLUMN guid text;
ALTER TABLE posts ADD COLUMN authors text;
ALTER TABLE posts ADD COLUMN html text;
ALTER TABLE posts ADD COLUMN summary text;
ALTER TABLE posts ADD COLUMN language text;
ALTER TABLE posts ADD COLUMN categories text;
ALTER TABLE posts ADD COLUMN enclosures text;
ALTER TABLE posts ADD COLUMN image_url text;
ALTER TABLE posts ADD COLUMN comments_url text;
ALTER TABLE posts ADD COLUMN updated_at timestamptz;
ALTER TABLE posts ADD COLUMN text_origin text;
ALTER TABLE posts ADD COLUMN full_text_error text;
ALTER TABLE posts ADD COLUMN changed_at timestamptz;
ALTER TABLE posts ADD COLUMN revision bigint NOT NULL DEFAULT 0;
-- Position among new and changed posts, from the sequence of the ids: NULL is the id, until the first change.
ALTER TABLE posts ADD COLUMN changed_number bigint;
ALTER TABLE posts ADD COLUMN is_backfill boolean NOT NULL DEFAULT false;

UPDATE posts SET text_origin = 'page' WHERE is_page;

DO $$
BEGIN
    ALTER TABLE posts ALTER COLUMN html SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END
$$;

DROP INDEX posts_once;
CREATE UNIQUE INDEX posts_once ON posts (source_id, entry_key);
CREATE INDEX posts_by_content ON posts (source_id, content_hash);
CREATE INDEX posts_without_key ON posts (source_id, id) WHERE entry_key IS NULL;
CREATE INDEX posts_changed ON posts (changed_number) WHERE changed_number IS NOT NULL;

-- Changed posts get their numbers in turns with new ones, so that all numbers become visible in their order.
CREATE TRIGGER posts_changed_in_order BEFORE UPDATE OF changed_number ON posts
    FOR EACH STATEMENT EXECUTE FUNCTION take_turns_with_posts();

-- Several removed posts may have had the same content. The key 0 stands for posts that had none.
ALTER TABLE cleaned_posts ADD COLUMN entry_key bigint NOT NULL DEFAULT 0;
ALTER TABLE cleaned_posts DROP CONSTRAINT cleaned_posts_pkey;
ALTER TABLE cleaned_posts ADD PRIMARY KEY (source_id, content_hash, entry_key);
CREATE INDEX cleaned_posts_by_key ON cleaned_posts (source_id, entry_key);

-- Keys of the entries of the last document that was read, eight bytes each. Apart from the source, because most polls
-- leave them as they are.
CREATE TABLE source_documents (
    source_id   bigint PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
    entry_keys  bytea  NOT NULL
);

ALTER TABLE sources ADD COLUMN backlog text;
ALTER TABLE sources ADD COLUMN full_text text;
ALTER TABLE sources ADD COLUMN bodies_repeat boolean NOT NULL DEFAULT false;
ALTER TABLE sources ADD COLUMN gaps bigint NOT NULL DEFAULT 0;
ALTER TABLE sources ADD COLUMN last_gap_at timestamptz;
ALTER TABLE sources ADD COLUMN feed_title text;

-- Unchanged for its readers: the body is the text on one line.
CREATE OR REPLACE VIEW posts_v1 AS
SELECT
    posts.id,
    posts.source_id,
    sources.type AS source_type,
    sources.title AS source_title,
    posts.title,
    replace(posts.text, chr(10), ' ') AS body,
    posts.url,
    posts.author,
    posts.published_at,
    posts.created_at,
    encode(posts.content_hash, 'hex') AS content_hash
FROM posts
JOIN sources ON sources.id = posts.source_id;

CREATE VIEW posts_v2 AS
SELECT
    posts.id,
    coalesce(posts.changed_number, posts.id) AS change_number,
    posts.revision,
    posts.source_id,
    sources.type AS source_type,
    coalesce(sources.title, sources.feed_title) AS source_title,
    posts.guid,
    posts.title,
    posts.url,
    posts.author,
    coalesce(posts.authors, '[]')::jsonb AS authors,
    posts.byline,
    posts.published_at,
    posts.updated_at,
    posts.created_at,
    posts.changed_at,
    replace(posts.text, chr(10), ' ') AS body,
    posts.text,
    posts.html,
    posts.summary,
    posts.language,
    coalesce(posts.categories, '[]')::jsonb AS categories,
    coalesce(posts.enclosures, '[]')::jsonb AS enclosures,
    posts.image_url,
    posts.comments_url,
    coalesce(posts.text_origin, 'feed') AS text_origin,
    posts.full_text_error,
    posts.is_backfill,
    encode(posts.content_hash, 'hex') AS content_hash
FROM posts
JOIN sources ON sources.id = posts.source_id;
