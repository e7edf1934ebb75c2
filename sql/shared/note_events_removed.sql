UPDATE daemon SET events_removed_to = $1
WHERE events_removed_to IS NULL OR events_removed_to < $1
