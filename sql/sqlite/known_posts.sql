-- 1: it is stored; 2: it is remembered, because it was cleaned up or left out for good. No row: it is new.
SELECT 1 FROM posts WHERE source_id = $1 AND content_hash = $2
UNION ALL
SELECT 2 FROM cleaned_posts WHERE source_id = $1 AND content_hash = $2
