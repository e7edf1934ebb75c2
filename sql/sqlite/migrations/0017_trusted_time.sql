-- The newest time that was trusted: a clock that is far ahead of it at a start has jumped, and nothing is removed by it.
ALTER TABLE daemon ADD COLUMN trusted_at INTEGER;
