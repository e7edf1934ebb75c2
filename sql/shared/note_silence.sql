INSERT INTO silences (source_id, noted_at)
SELECT id, CAST($2 AS timestamptz) FROM sources WHERE id = $1
ON CONFLICT (source_id) DO NOTHING
