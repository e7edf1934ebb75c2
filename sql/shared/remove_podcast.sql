DELETE FROM podcasts WHERE id = $1
