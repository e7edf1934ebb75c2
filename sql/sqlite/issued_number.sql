SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'posts'), 0) AS issued
