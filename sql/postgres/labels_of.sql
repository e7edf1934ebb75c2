SELECT source_id, label
FROM source_labels
WHERE source_id = ANY ($1::bigint[])
ORDER BY source_id, place, label
