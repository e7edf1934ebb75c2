SELECT identity, backed_up_at, (SELECT max(last_polled) FROM sources) AS last_polled
FROM daemon
