UPDATE sources SET version = version + 1, updated_at = $2, ({state_columns}) = ({$4.. state_columns})
WHERE id = $1 AND version = $3
