-- The same as for SQLite.
SELECT to_timestamp({now} / 1e6) AS moment INTO TEMP TABLE clock;

INSERT INTO sources (
    version, created_at, updated_at, type, url, host, title, first_polled_at, last_polled, last_success_at, last_read_at, etag,
    consecutive_failures, failure_run_kind, failure_run_length, last_failure_type, last_error_type, last_error,
    feed_disabled_at, feed_disable_reason, feed_disabled_by, enabled, disabled_reason, last_poll_id
)
SELECT
    2, moment - interval '400 days', polled,
    CASE WHEN number > {sources} * 0.999 THEN 'website' ELSE 'rss' END,
    format('https://www.host-%s.example/feeds/%s/index.xml', number % {hosts}, number),
    format('www.host-%s.example', number % {hosts}),
    format('Feed number %s', number),
    moment - interval '1 day', polled, polled, polled,
    format('"%s"', lpad(to_hex(number), 16, '0')),
    CASE WHEN is_failing THEN 2 ELSE 0 END, CASE WHEN is_failing THEN 'upstream_failure' END,
    CASE WHEN is_failing THEN 2 END, CASE WHEN is_failing THEN 'transient' END,
    CASE WHEN is_failing THEN 'upstream_failure' END, CASE WHEN is_failing THEN 'status 503' END,
    CASE WHEN is_resting THEN moment END, CASE WHEN is_resting THEN 'moving' END, CASE WHEN is_resting THEN 'person' END,
    NOT is_disabled, CASE WHEN is_disabled THEN 'by hand' END,
    CASE WHEN number % {hosts} = 7 THEN {sources} + 1981 + number / {hosts} ELSE number END
FROM clock, generate_series(1, {sources}) AS number, LATERAL (
    SELECT
        moment - number % 3600 * interval '1 second' AS polled,
        number > {sources} * 0.9 AS is_failing,
        number > {sources} * 0.99 AS is_resting,
        number > {sources} * 0.98 AND number <= {sources} * 0.99 AS is_disabled
) AS facts;

INSERT INTO polls (id, source_id, previous_id, at, status_code, bytes, duration_ms, next)
SELECT number, number, NULL, moment - interval '1 day' + number * interval '1 microsecond', 304, 200, 30, 'interval'
FROM clock, generate_series(1, {sources}) AS number
UNION ALL
SELECT
    {sources} + place * 20 - 19 + number / {hosts}, number,
    CASE WHEN place = 1 THEN number ELSE {sources} + place * 20 - 39 + number / {hosts} END,
    moment - (100 - place) * interval '10 minutes', 304, 200, 30 + place, 'interval'
FROM clock, generate_series(7, {sources}, {hosts}) AS number, generate_series(1, 100) AS place;
SELECT setval('poll_ids', {sources} + 2000);

INSERT INTO poll_hours (hour, run, outcome, polls, new_posts, updated_posts, bytes, duration_ms)
SELECT
    date_trunc('hour', moment) - hours * interval '1 hour', runs, outcome, 4000 + hours, 100, 10, 1000000, 100000
FROM clock, generate_series(1, 168) AS hours, generate_series(1, 10) AS runs,
    unnest(ARRAY['read', 'unchanged', 'upstream_failure', 'network']) AS outcome;

INSERT INTO audit (at, who, action, target, target_id, target_name, fields_before, fields_after)
SELECT
    moment - ({sources} - number) * interval '1 millisecond', CASE WHEN number = 1 THEN 'rare' ELSE 'uid 0' END,
    'source.change', 'source', number::text, format('Feed number %s', number), '{"title":"a"}', '{"title":"b"}'
FROM clock, generate_series(1, {sources} / 10) AS number;

INSERT INTO source_labels (source_id, label, place)
SELECT number, format('label-%s', number % 20), 0 FROM generate_series(1, {sources}) AS number;

INSERT INTO hosts (host, last_asked_at)
SELECT format('www.host-%s.example', number % {hosts}), moment FROM clock, generate_series(1, {hosts}) AS number;

INSERT INTO posts (source_id, title, text, url, published_at, created_at, content_hash, entry_key)
SELECT
    1 + number % ({posts} / 10), format('Post %s', number), format('%s %s', number, repeat('00', 500)),
    format('https://www.host-7.example/%s', number), stored, stored, sha256(number::text::bytea), number
FROM clock, generate_series(1, {posts}) AS number, LATERAL (
    SELECT moment - ({posts} - number) * interval '1 second' AS stored
) AS facts;

INSERT INTO articles (title, body, url, created_at)
SELECT format('Article %s', number), repeat('00', 500), NULL, moment FROM clock, generate_series(1, {posts} / 10) AS number;

INSERT INTO webhooks (url, sealed, enabled, disabled_reason, last_post_id, created_at)
SELECT format('https://hook-%s.example/', number), '\x00', false, 'by hand', 0, moment
FROM clock, generate_series(1, 20) AS number;

DROP TABLE clock;
