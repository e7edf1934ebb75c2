SELECT paused_since FROM daemon
