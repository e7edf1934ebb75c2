UPDATE fleet SET key_check = $1
