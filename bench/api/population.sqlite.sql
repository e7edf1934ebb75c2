BEGIN;

CREATE TEMP TABLE numbers AS
WITH RECURSIVE counted (number) AS (
    SELECT 1 UNION ALL SELECT number + 1 FROM counted WHERE number < {sources}
)
SELECT number FROM counted;

-- A tenth fails, a hundredth rests, a hundredth is disabled; a thousandth are pages. All were polled within the last hour. They are
-- older than `source.silent-days`, so those without posts are silent, which is the most that the counts can have to do.
INSERT INTO sources (
    version, created_at, updated_at, type, url, host, title, first_polled_at, last_polled, last_success_at, last_read_at, etag,
    consecutive_failures, failure_run_kind, failure_run_length, last_failure_type, last_error_type, last_error,
    feed_disabled_at, feed_disable_reason, feed_disabled_by, enabled, disabled_reason, last_poll_id
)
SELECT
    2, {now} - 400 * 86400000000, {now} - number % 3600 * 1000000,
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
    iif(number > {sources} * 0.98 AND number <= {sources} * 0.99, 'by hand', NULL),
    iif(number % {hosts} = 7, {sources} + 1981 + number / {hosts}, number)
FROM numbers;

-- The last poll of every source, and 100 more of the twenty sources of one host.
INSERT INTO polls (id, source_id, previous_id, at, status_code, bytes, duration_ms, next)
SELECT number, number, NULL, {now} - 86400000000 + number, 304, 200, 30, 'interval' FROM numbers
UNION ALL
SELECT
    {sources} + places.number * 20 - 19 + sources.number / {hosts}, sources.number,
    iif(places.number = 1, sources.number, {sources} + places.number * 20 - 39 + sources.number / {hosts}),
    {now} - (100 - places.number) * 600000000, 304, 200, 30 + places.number, 'interval'
FROM numbers AS sources, numbers AS places
WHERE sources.number % {hosts} = 7 AND places.number <= 100;

-- A week of ten nodes.
INSERT INTO poll_hours (hour, run, outcome, polls, new_posts, updated_posts, bytes, duration_ms)
SELECT
    {now} - {now} % 3600000000 - hours.number * 3600000000, runs.number, outcome, 4000 + hours.number, 100, 10, 1000000, 100000
FROM numbers AS hours, numbers AS runs, (
    SELECT 'read' AS outcome UNION ALL SELECT 'unchanged' UNION ALL SELECT 'upstream_failure' UNION ALL SELECT 'network'
)
WHERE hours.number <= 168 AND runs.number <= 10;

INSERT INTO audit (at, who, action, target, target_id, target_name, fields_before, fields_after)
SELECT
    {now} - ({sources} - number) * 1000, iif(number = 1, 'rare', 'uid 0'), 'source.change', 'source', CAST(number AS TEXT),
    format('Feed number %d', number), '{"title":"a"}', '{"title":"b"}'
FROM numbers WHERE number <= {sources} / 10;

-- Twenty labels: the fewer there are, the more sources each of them has.
INSERT INTO source_labels (source_id, label, place)
SELECT number, format('label-%d', number % 20), 0 FROM numbers;

INSERT INTO hosts (host, last_asked_at)
SELECT format('www.host-%d.example', number % {hosts}), {now} FROM numbers WHERE number <= {hosts};

INSERT INTO posts (source_id, title, text, url, published_at, created_at, content_hash, entry_key)
SELECT
    1 + number % ({posts} / 10), format('Post %d', number), format('%d %s', number, hex(zeroblob(500))),
    format('https://www.host-7.example/%d', number), {now} - ({posts} - number) * 1000000,
    {now} - ({posts} - number) * 1000000, CAST(format('%032d', number) AS BLOB), number
FROM numbers WHERE number <= {posts};

INSERT INTO articles (title, body, url, created_at)
SELECT format('Article %d', number), hex(zeroblob(500)), NULL, {now} FROM numbers WHERE number <= {posts} / 10;

INSERT INTO webhooks (url, sealed, enabled, disabled_reason, last_post_id, created_at)
SELECT format('https://hook-%d.example/', number), x'00', 0, 'by hand', 0, {now} FROM numbers WHERE number <= 20;

DROP TABLE numbers;
COMMIT;
ANALYZE;
