-- The places of the candidates that are known, so that their bodies need not be sent.
-- 1: it is stored; 2: it is remembered, because it was cleaned up or left out for good.
SELECT candidate.place, CASE WHEN post.id IS NULL THEN 2 ELSE 1 END::bigint
FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS candidate (source_id, content_hash, place)
LEFT JOIN posts AS post
    ON post.source_id = candidate.source_id AND post.content_hash = candidate.content_hash
LEFT JOIN cleaned_posts AS cleaned
    ON cleaned.source_id = candidate.source_id AND cleaned.content_hash = candidate.content_hash
WHERE post.id IS NOT NULL OR cleaned.source_id IS NOT NULL
