-- Live nodes, and the last ones that ended.
SELECT
    nodes.node_id, nodes.name, version, settings, joined_at, report::text,
    EXTRACT(EPOCH FROM expires_at - clock_timestamp())::double precision, ended_at,
    (SELECT ender.name FROM nodes AS ender WHERE ender.node_id = nodes.ended_by) AS ended_by_name,
    ended_by = nodes.node_id,
    (SELECT count(*) FROM shards WHERE shards.node_id = nodes.node_id)
FROM nodes
WHERE ended_at IS NULL OR ended_at > clock_timestamp() - interval '1 day'
ORDER BY nodes.ended_at DESC NULLS FIRST, nodes.name, nodes.joined_at DESC
LIMIT $1
