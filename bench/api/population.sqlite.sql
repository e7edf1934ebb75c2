BEGIN;

CREATE TEMP TABLE numbers AS
WITH RECURSIVE counted (number) AS (
    SELECT 1 UNION ALL SELECT number + 1 FROM counted WHERE number < {sources}
)
SELECT number FROM counted;

-- A tenth fails, a hundredth rests, a hundredth is disabled; a thousandth are pages. All were polled within the last hour.
INSERT INTO sources (
    version, created_at, updated_at, type, url, host, title, first_polled_at, last_polled, last_success_at, last_read_at, etag,
    consecutive_failures, failure_run_kind, failure_run_length, last_failure_type, last_error_type, last_error,
    feed_disabled_at, feed_disable_reason, feed_disabled_by, enabled, disabled_reason
)
SELECT
    2, {now} - 86400000000, {now} - number % 3600 * 1000000,
    iif(number > {sources} * 0.999, 'website', 'rss'),
    format('https://www.host-%d.example/feeds/%d/index.xml', number % {hosts}, number),
    format('www.host-%d.example', number % {hosts}),
    format('Feed number %d', number),
    {now} - 86400000000, {now} - number % 3600 * 1000000, {now} - number % 3600 * 1000000, {now} - number % 3600 * 1000000,
    format('"%016x"', number),
    iif(number > {sources} * 0.9, 2, 0), iif(number > {sources} * 0.9, 'upstream_failure', NULL),
    iif(number > {sources} * 0.9, 2, NULL), iif(number > {sources} * 0.9, 'transient', NULL),
    iif(number > {sources} * 0.9, 'upstream_failure', NULL), iif(number > {sources} * 0.9, 'status 503', NULL),
    iif(number > {sources} * 0.99, {now}, NULL), iif(number > {sources} * 0.99, 'moving', NULL),
    iif(number > {sources} * 0.99, 'person', NULL),
    number <= {sources} * 0.98 OR number > {sources} * 0.99,
    iif(number > {sources} * 0.98 AND number <= {sources} * 0.99, 'by hand', NULL)
FROM numbers;

-- Twenty labels: the fewer there are, the more sources each of them has.
INSERT INTO source_labels (source_id, label, place)
SELECT number, format('label-%d', number % 20), 0 FROM numbers;

INSERT INTO hosts (host, last_asked_at)
SELECT format('www.host-%d.example', number % {hosts}), {now} FROM numbers WHERE number <= {hosts};

INSERT INTO posts (source_id, title, body, url, published_at, created_at, content_hash)
SELECT
    1 + number % ({posts} / 10), format('Post %d', number), format('%d %s', number, hex(zeroblob(500))),
    format('https://www.host-7.example/%d', number), {now} - ({posts} - number) * 1000000,
    {now} - ({posts} - number) * 1000000, CAST(format('%032d', number) AS BLOB)
FROM numbers WHERE number <= {posts};

INSERT INTO articles (title, body, url, created_at)
SELECT format('Article %d', number), hex(zeroblob(500)), NULL, {now} FROM numbers WHERE number <= {posts} / 10;

INSERT INTO webhooks (url, sealed, enabled, disabled_reason, last_post_id, created_at)
SELECT format('https://hook-%d.example/', number), x'00', 0, 'by hand', 0, {now} FROM numbers WHERE number <= 20;

DROP TABLE numbers;
COMMIT;
ANALYZE;
