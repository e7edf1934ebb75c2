INSERT INTO posts (source_id, title, body, url, author, byline, published_at, created_at, content_hash)
SELECT source_id, title, body, url, author, byline, published_at, created_at, content_hash
FROM unnest(
    $1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[],
    $9::bytea[]
) WITH ORDINALITY AS added (source_id, title, body, url, author, byline, published_at, created_at, content_hash, place)
ORDER BY place
ON CONFLICT (source_id, content_hash) DO NOTHING
RETURNING id, source_id
