SELECT {source_columns}
FROM sources
WHERE md5(url) = md5($1) AND url = $1
ORDER BY id
