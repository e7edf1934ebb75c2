UPDATE sqlite_sequence SET seq = $1 WHERE name = 'posts'
