//! Several nodes on one PostgreSQL.
//!
//! - `race`: the statements of a fleet against each other

mod race;
