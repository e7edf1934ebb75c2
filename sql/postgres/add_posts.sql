INSERT INTO posts (source_id, title, body, url, author, byline, published_at, created_at, content_hash, is_page)
SELECT
    source_id, added.title, body, added.url, author, byline, published_at, added.created_at, content_hash,
    sources.type = 'website'
FROM unnest(
    $1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[], $8::timestamptz[],
    $9::bytea[]
) WITH ORDINALITY AS added (source_id, title, body, url, author, byline, published_at, created_at, content_hash, place)
JOIN sources ON sources.id = added.source_id
ORDER BY place
ON CONFLICT (source_id, content_hash) DO NOTHING
RETURNING id, source_id
