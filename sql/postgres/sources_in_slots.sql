-- Paged by slot and key: $1 and $2 are the last ones of the page before, $3 is the last slot. The order is that of the
-- column, which has an index; a number of the same name in the list would be sorted instead.
SELECT {source_columns}, slot::bigint AS slot_number
FROM sources
WHERE (slot, id) > ($1, $2) AND slot <= $3
ORDER BY slot, id
LIMIT $4
