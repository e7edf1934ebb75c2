SELECT 1::bigint
