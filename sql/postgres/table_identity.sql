-- The same without what some servers show to administrators only.
SELECT concat_ws('/', (SELECT oid FROM pg_database WHERE datname = current_database()), 'posts'::regclass::oid)
