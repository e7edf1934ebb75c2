//! Store.
pub mod settings;
