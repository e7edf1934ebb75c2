INSERT INTO source_labels (source_id, label, place)
SELECT added.source_id, added.label, added.place
FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS added (source_id, label, place)
ORDER BY added.source_id, added.label
ON CONFLICT DO NOTHING
RETURNING source_id
