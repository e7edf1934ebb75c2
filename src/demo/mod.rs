//! A little world to show, test and measure Feedwarden in, without the internet and the same on every machine.

pub mod web;
