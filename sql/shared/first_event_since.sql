SELECT min(number) FROM events WHERE at >= $1
