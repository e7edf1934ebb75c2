SELECT source_id, label
FROM source_labels
WHERE source_id IN (SELECT value FROM json_each($1))
ORDER BY source_id, place, label
