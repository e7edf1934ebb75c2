INSERT INTO posts (source_id, title, body, url, author, byline, published_at, created_at, content_hash, is_page)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, (SELECT type = 'website' FROM sources WHERE id = ?1))
