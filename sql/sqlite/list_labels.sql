SELECT label, count(*)
FROM source_labels
WHERE label > ?1
GROUP BY label
ORDER BY label
LIMIT ?2
