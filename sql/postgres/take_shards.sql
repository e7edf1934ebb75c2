-- Only shards without a live owner.
UPDATE shards SET node_id = $1, epoch = epoch + 1
WHERE shard IN (
        SELECT shard
        FROM shards
        LEFT JOIN nodes USING (node_id)
        WHERE shards.node_id IS NULL OR nodes.ended_at IS NOT NULL
        ORDER BY random()
        LIMIT $2
        FOR UPDATE OF shards SKIP LOCKED
    )
    AND EXISTS (SELECT FROM nodes WHERE node_id = $1 AND ended_at IS NULL)
    -- A time further ahead than a lease was written before the clock of the server was set back; what was planned before a
    -- failover does not hold after it.
    AND EXISTS (
        SELECT
        FROM fleet
        WHERE (quiet_until <= clock_timestamp() OR quiet_until > clock_timestamp() + lease)
            AND timeline = $3 AND substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) = $3
    )
RETURNING shard::bigint, epoch
