-- Paged by slot and key: $1 and $2 are the last ones of the page before, $3 is the last slot.
SELECT {source_columns}, slot::bigint
FROM sources
WHERE (slot, id) > ($1, $2) AND slot <= $3
ORDER BY slot, id
LIMIT $4
