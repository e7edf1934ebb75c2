DELETE FROM node_messages
WHERE message_id IN (
    SELECT message_id
    FROM node_messages
    WHERE (shard = ANY ($2::integer[]) OR node_id = $1)
    ORDER BY message_id
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
RETURNING message_id, sender, body, EXTRACT(EPOCH FROM clock_timestamp() - sent_at)::double precision, shard IS NOT NULL
