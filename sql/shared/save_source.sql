-- $1 is the source, $2 the version that the change was made on, $3 the moment, $4 the host.
UPDATE sources SET
    version = version + 1, updated_at = $3, host = $4,
    ({settings_and_state_columns}) = ({$5.. settings_and_state_columns})
WHERE id = $1 AND version = $2
RETURNING version
