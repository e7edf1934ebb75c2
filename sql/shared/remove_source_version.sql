DELETE FROM sources WHERE id = $1 AND version = $2
