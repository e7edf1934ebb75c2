//! The program: passes its arguments to the command line and returns the exit code.

use feedwarden::cli::{Exit, run};

fn main() -> Exit {
    run(std::env::args_os())
}
