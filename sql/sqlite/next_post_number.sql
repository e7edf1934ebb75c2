-- Changed posts are numbered from the sequence of the ids of posts.
UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'posts' RETURNING seq
