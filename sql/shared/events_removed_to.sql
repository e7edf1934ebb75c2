SELECT events_removed_to FROM daemon
