SELECT id FROM sources WHERE coalesce(podcast_id, 0) = coalesce($1, 0) AND type = $2 AND url = $3
