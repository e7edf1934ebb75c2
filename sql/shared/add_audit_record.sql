INSERT INTO audit
    (at, who, user_name, address, node, action, target, target_id, target_name, fields_before, fields_after)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
