UPDATE sources SET
    version = version + 1, updated_at = $2, last_poll_id = coalesce($4, last_poll_id),
    ({state_columns}) = ({$5.. state_columns})
WHERE id = $1 AND version = $3
