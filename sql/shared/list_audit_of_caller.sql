-- The records of one caller, by the index audit_by_caller. Other empty texts select all.
SELECT id, at, who, user_name, address, node, action, target, target_id, target_name, fields_before, fields_after
FROM audit
WHERE id < $1
  AND at >= $2
  AND (target = $3 OR $3 = '')
  AND (target_id = $4 OR $4 = '')
  AND (action = $5 OR $5 = '')
  AND who = $6
ORDER BY id DESC
LIMIT $7
