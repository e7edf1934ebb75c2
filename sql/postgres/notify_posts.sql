SELECT pg_notify('feedwarden_posts', $1::text)
