UPDATE fleet SET lease = make_interval(secs => $1)
