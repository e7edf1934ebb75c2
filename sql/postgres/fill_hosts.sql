UPDATE sources SET host = found.host
FROM unnest($1::bigint[], $2::text[]) AS found (id, host)
WHERE sources.id = found.id AND sources.host IS NULL
