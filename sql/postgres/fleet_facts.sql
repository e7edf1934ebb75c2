SELECT
    EXTRACT(EPOCH FROM lease)::double precision,
    CASE
        WHEN quiet_until > clock_timestamp() + lease THEN 0
        ELSE greatest(EXTRACT(EPOCH FROM quiet_until - clock_timestamp()), 0)
    END::double precision,
    (SELECT count(*) FROM shards LEFT JOIN nodes USING (node_id) WHERE shards.node_id IS NULL OR ended_at IS NOT NULL),
    (SELECT count(*) FROM node_messages),
    ARRAY(SELECT coalesce(CASE WHEN ended_at IS NULL THEN shards.node_id END, 0) FROM shards LEFT JOIN nodes USING (node_id) ORDER BY shard)
FROM fleet
