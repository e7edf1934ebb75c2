-- A page's date says nothing about how long its content has been known: the age of its posts counts from when they were
-- stored. Otherwise a page dated a month ago would be stored and cleaned up at the next tick.
ALTER TABLE posts ADD COLUMN is_page INTEGER NOT NULL DEFAULT 0 CHECK (is_page IN (0, 1));

UPDATE posts SET is_page = 1 WHERE source_id IN (SELECT id FROM sources WHERE type = 'website');

DROP INDEX posts_to_clean;
CREATE INDEX posts_to_clean ON posts (CASE WHEN is_page = 1 THEN created_at ELSE coalesce(published_at, created_at) END, id)
WHERE is_linked = 0;
