//! The supervision layer with real actix actors: what survives which crash, in which order things happen, what is seen.
//!
//! Time stands still unless a test moves it, so no test waits for a delay; they wait for conditions.

mod corners;
mod groups;
mod order;
mod patience;
mod places;
mod probe;
mod promises;
mod reading;
mod threads;
mod world;
