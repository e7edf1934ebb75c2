SELECT EXTRACT(EPOCH FROM lease)::double precision, key_check
FROM fleet
FOR UPDATE
