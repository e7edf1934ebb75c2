INSERT INTO source_labels (source_id, label, place)
VALUES ($1, $2, $3)
ON CONFLICT DO NOTHING
