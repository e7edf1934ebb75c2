//! WebSub: the subscriber's test cases of the W3C, played against a hub that speaks real HTTP, and what a hub must not be
//! able to do.

mod hints;
mod leases;
mod play;
mod subscribing;
