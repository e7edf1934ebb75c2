SELECT EXTRACT(EPOCH FROM lease)::double precision, key_check, timeline
FROM fleet
FOR UPDATE
