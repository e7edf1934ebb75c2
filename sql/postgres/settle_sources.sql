UPDATE sources SET
    version = sources.version + 1, updated_at = settled.settled_at, ({state_columns}) = ({settled.state_columns})
FROM unnest($1::bigint[], $2::timestamptz[], {$3.. state_columns[]}) AS settled (id, settled_at, {state_columns})
WHERE sources.id = settled.id
