//! The program: passes its arguments to the command line and returns the exit code.

use feedwarden::cli::{Exit, run};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> Exit {
    run(std::env::args_os())
}
