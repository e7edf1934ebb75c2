//! The scenarios that are decided while reading.
