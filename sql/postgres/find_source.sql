SELECT id FROM sources
WHERE coalesce(podcast_id, 0) = coalesce($1::bigint, 0) AND type = $2 AND md5(url) = md5($3) AND url = $3
