SELECT count(*) FROM nodes WHERE ended_at IS NULL
