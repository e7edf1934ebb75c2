UPDATE sources SET
    version = sources.version + 1, updated_at = settled.settled_at,
    last_poll_id = coalesce(settled.last_poll_id, sources.last_poll_id),
    ({state_columns}) = ({settled.state_columns})
FROM unnest($1::bigint[], $2::timestamptz[], $3::bigint[], {$4.. state_columns[]})
    AS settled (id, settled_at, last_poll_id, {state_columns})
WHERE sources.id = settled.id
