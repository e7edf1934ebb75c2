UPDATE daemon SET paused_since = NULL
