-- $2 and $3 are nodes and beats that stood still in every renewal of ours for a whole lease.
UPDATE nodes SET ended_at = clock_timestamp(), ended_by = $1
WHERE node_id IN (
    SELECT node_id
    FROM nodes
    JOIN unnest($2::bigint[], $3::bigint[]) AS still (node_id, beat) USING (node_id, beat)
    WHERE ended_at IS NULL AND expires_at <= clock_timestamp()
    ORDER BY node_id
    FOR UPDATE OF nodes SKIP LOCKED
)
RETURNING name
