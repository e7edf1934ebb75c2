DELETE FROM poll_hours WHERE hour < $1
