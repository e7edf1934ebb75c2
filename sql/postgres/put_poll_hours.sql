INSERT INTO poll_hours (run, {poll_hour_columns})
SELECT $1, * FROM unnest({$2.. poll_hour_columns[]})
ON CONFLICT (hour, run, outcome) DO UPDATE SET
    polls = excluded.polls, new_posts = excluded.new_posts, updated_posts = excluded.updated_posts,
    bytes = excluded.bytes, duration_ms = excluded.duration_ms
