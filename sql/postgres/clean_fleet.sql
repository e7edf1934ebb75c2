-- Nodes that ended long ago and messages that no node has read.
WITH messages AS (DELETE FROM node_messages WHERE sent_at < clock_timestamp() - interval '10 minutes')
DELETE FROM nodes
WHERE ended_at < clock_timestamp() - interval '7 days'
    AND NOT EXISTS (SELECT FROM shards WHERE shards.node_id = nodes.node_id)
