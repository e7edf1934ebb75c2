-- $2 and $3 are nodes and beats that stood still in every renewal of ours for a whole lease.
UPDATE nodes SET ended_at = clock_timestamp(), ended_by = $1
WHERE node_id IN (
    SELECT node_id
    FROM nodes
    JOIN unnest($2::bigint[], $3::bigint[]) AS still (node_id, beat) USING (node_id, beat)
    CROSS JOIN fleet
    WHERE ended_at IS NULL
        -- A time further ahead than a lease was written before the clock of the server was set back.
        AND (expires_at <= clock_timestamp() OR expires_at > clock_timestamp() + lease)
        -- What was planned before a failover does not hold after it.
        AND timeline = $4 AND substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) = $4
    ORDER BY node_id
    FOR UPDATE OF nodes SKIP LOCKED
)
RETURNING name
