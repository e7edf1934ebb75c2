-- The epoch is compared, too: a statement that arrives late must not release a shard that the node has taken again.
-- Other nodes are told at once.
WITH freed AS (
    UPDATE shards SET node_id = NULL
    FROM unnest($2::integer[], $3::bigint[]) AS released (shard, epoch)
    WHERE node_id = $1 AND shards.shard = released.shard AND shards.epoch = released.epoch
    RETURNING shards.shard
)
SELECT pg_notify('feedwarden_fleet', 'f') FROM freed LIMIT 1
