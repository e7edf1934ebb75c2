//! Feeds as files: every format and every defect that the reader knows, and laws that hold for all of them.

mod details;
mod fixtures;
mod habits;
mod laws;
mod render;
mod scenarios;
