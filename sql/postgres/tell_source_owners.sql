-- To the owners of these sources: read them again. In the transaction that changes them.
WITH sent AS MATERIALIZED (
    INSERT INTO node_messages (shard, sender, body)
    SELECT slot >> 8, $1, json_build_object('sources_changed', json_agg(id))::text
    FROM sources
    WHERE id = ANY ($2::bigint[])
    GROUP BY slot >> 8
    RETURNING shard
)
SELECT pg_notify('feedwarden_fleet', 's' || shard) FROM sent
