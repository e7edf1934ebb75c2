-- Posts as publishers mean them. An entry is known by its key (rules::identity), not by its body alone: entries with equal
-- bodies are different posts, and a changed entry changes its post. Posts of earlier versions have no key; they get one
-- when their entry is met again (by URL or content).

DROP VIEW posts_v1;

ALTER TABLE posts RENAME COLUMN body TO text;
ALTER TABLE posts ADD COLUMN entry_key INTEGER;
ALTER TABLE posts ADD COLUMN guid TEXT;
ALTER TABLE posts ADD COLUMN authors TEXT;
ALTER TABLE posts ADD COLUMN html TEXT;
ALTER TABLE posts ADD COLUMN summary TEXT;
ALTER TABLE posts ADD COLUMN language TEXT;
ALTER TABLE posts ADD COLUMN categories TEXT;
ALTER TABLE posts ADD COLUMN enclosures TEXT;
ALTER TABLE posts ADD COLUMN image_url TEXT;
ALTER TABLE posts ADD COLUMN comments_url TEXT;
ALTER TABLE posts ADD COLUMN updated_at INTEGER;
ALTER TABLE posts ADD COLUMN text_origin TEXT;
ALTER TABLE posts ADD COLUMN full_text_error TEXT;
ALTER TABLE posts ADD COLUMN changed_at INTEGER;
ALTER TABLE posts ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
-- Position among new and changed posts, from the sequence of the ids: NULL is the id, until the first change.
ALTER TABLE posts ADD COLUMN changed_number INTEGER;
ALTER TABLE posts ADD COLUMN is_backfill INTEGER NOT NULL DEFAULT 0 CHECK (is_backfill IN (0, 1));

UPDATE posts SET text_origin = 'page' WHERE is_page = 1;

DROP INDEX posts_once;
CREATE UNIQUE INDEX posts_once ON posts (source_id, entry_key);
-- With the key, so that an entry that is known and unchanged is found without reading its post.
CREATE INDEX posts_by_content ON posts (source_id, content_hash, entry_key);
CREATE INDEX posts_without_key ON posts (source_id, id) WHERE entry_key IS NULL;
CREATE INDEX posts_changed ON posts (changed_number) WHERE changed_number IS NOT NULL;

-- Several removed posts may have had the same content. The key 0 stands for posts that had none.
CREATE TABLE cleaned_entries (
    source_id     INTEGER NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
    content_hash  BLOB    NOT NULL CHECK (length(content_hash) = 32),
    entry_key     INTEGER NOT NULL DEFAULT 0,
    last_seen_at  INTEGER NOT NULL,
    PRIMARY KEY (source_id, content_hash, entry_key)
) STRICT, WITHOUT ROWID;

INSERT INTO cleaned_entries (source_id, content_hash, last_seen_at)
SELECT source_id, content_hash, last_seen_at FROM cleaned_posts;
DROP TABLE cleaned_posts;
ALTER TABLE cleaned_entries RENAME TO cleaned_posts;
CREATE INDEX cleaned_posts_by_age ON cleaned_posts (last_seen_at);
CREATE INDEX cleaned_posts_by_key ON cleaned_posts (source_id, entry_key);

-- Keys of the entries of the last document that was read, eight bytes each. Apart from the source, because most polls
-- leave them as they are.
CREATE TABLE source_documents (
    source_id   INTEGER PRIMARY KEY REFERENCES sources (id) ON DELETE CASCADE,
    entry_keys  BLOB    NOT NULL
) STRICT;

ALTER TABLE sources ADD COLUMN backlog TEXT;
ALTER TABLE sources ADD COLUMN full_text TEXT;
ALTER TABLE sources ADD COLUMN bodies_repeat INTEGER NOT NULL DEFAULT 0 CHECK (bodies_repeat IN (0, 1));
ALTER TABLE sources ADD COLUMN gaps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sources ADD COLUMN last_gap_at INTEGER;
ALTER TABLE sources ADD COLUMN feed_title TEXT;

-- Unchanged for its readers: the body is the text on one line.
CREATE VIEW posts_v1 AS
SELECT
    posts.id,
    posts.source_id,
    sources.type AS source_type,
    sources.title AS source_title,
    posts.title,
    replace(posts.text, char(10), ' ') AS body,
    posts.url,
    posts.author,
    posts.published_at,
    posts.created_at,
    lower(hex(posts.content_hash)) AS content_hash
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
    coalesce(posts.authors, '[]') AS authors,
    posts.byline,
    posts.published_at,
    posts.updated_at,
    posts.created_at,
    posts.changed_at,
    replace(posts.text, char(10), ' ') AS body,
    posts.text,
    posts.html,
    posts.summary,
    posts.language,
    coalesce(posts.categories, '[]') AS categories,
    coalesce(posts.enclosures, '[]') AS enclosures,
    posts.image_url,
    posts.comments_url,
    coalesce(posts.text_origin, 'feed') AS text_origin,
    posts.full_text_error,
    posts.is_backfill,
    lower(hex(posts.content_hash)) AS content_hash
FROM posts
JOIN sources ON sources.id = posts.source_id;
