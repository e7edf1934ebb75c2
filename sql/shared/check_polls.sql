SELECT {poll_columns}
FROM polls
WHERE id > $1
ORDER BY id
LIMIT $2
