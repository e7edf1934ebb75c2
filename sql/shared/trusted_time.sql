SELECT trusted_at FROM daemon
