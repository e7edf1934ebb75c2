UPDATE sources SET host = $2 WHERE id = $1 AND host IS NULL
