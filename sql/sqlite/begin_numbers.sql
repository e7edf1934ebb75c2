-- The sequence of a table has no row before its first use.
INSERT INTO sqlite_sequence (name, seq)
SELECT 'posts', 0
WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'posts')
