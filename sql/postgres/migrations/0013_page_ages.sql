-- A page's date says nothing about how long its content has been known: the age of its posts counts from when they were
-- stored. Otherwise a page dated a month ago would be stored and cleaned up at the next tick.
ALTER TABLE posts ADD COLUMN is_page boolean NOT NULL DEFAULT false;

UPDATE posts SET is_page = true WHERE source_id IN (SELECT id FROM sources WHERE type = 'website');

DROP INDEX posts_to_clean;
CREATE INDEX posts_to_clean ON posts ((CASE WHEN is_page THEN created_at ELSE coalesce(published_at, created_at) END), id)
WHERE NOT is_linked;
