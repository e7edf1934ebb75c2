-- NOTIFY only wakes the receivers: the table carries the messages.
WITH sent AS MATERIALIZED (
    INSERT INTO node_messages (shard, node_id, sender, body)
    SELECT shard, node_id, $1, body
    FROM unnest($2::integer[], $3::bigint[], $4::text[]) AS new (shard, node_id, body)
    RETURNING shard, node_id
)
SELECT pg_notify('feedwarden_fleet', coalesce('s' || shard, 'n' || node_id)) FROM sent
