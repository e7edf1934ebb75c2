//! The configuration, as the real program reads it.
