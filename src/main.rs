//! The program: hands its arguments to the command line, and the answer to the system.

use feedwarden::cli::{Exit, run};

fn main() -> Exit {
    run(std::env::args_os())
}
