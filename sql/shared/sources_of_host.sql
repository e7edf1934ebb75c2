SELECT
    id, version, created_at, updated_at, podcast_id, type, url, title, poll_interval_minutes, poll_delay_seconds,
    max_failures, max_backoff_hours, enabled, disabled_reason, first_polled_at, last_polled, poll_requested_at,
    last_success_at, last_read_at, last_seen_id, etag, last_modified, retry_after, fresh_until,
    update_period_minutes, skip_hours, skip_days, consecutive_failures, consecutive_permanent_failures,
    failure_run_kind, failure_run_length, last_failure_type, last_error_type, last_error, feed_disabled_at,
    feed_disable_reason, feed_disabled_by, account_id, moved_to, moved_days, moved_last_at
FROM sources
WHERE host = $1 AND id > $2
ORDER BY id
LIMIT $3
