-- Every label has its source, so a page of labels is a page of sources.
SELECT {source_columns}
FROM (
    SELECT source_id
    FROM source_labels
    WHERE label = $1 AND source_id > $2
    ORDER BY source_id
    LIMIT $3
) AS labelled
JOIN sources ON sources.id = labelled.source_id
ORDER BY source_id
