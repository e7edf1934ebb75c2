UPDATE websub_subscriptions
SET useful = useful + $2, missed = missed + $3
WHERE source_id = $1 AND state <> 'leaving'
