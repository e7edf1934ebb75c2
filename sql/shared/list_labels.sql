SELECT label, sources
FROM labels
WHERE label > $1
ORDER BY label
LIMIT $2
