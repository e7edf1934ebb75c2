//! `feedwarden demo`: the daemon on a simulated web.

use std::io::IsTerminal;
use std::time::Duration;

use super::arguments::Demo;
use super::{Exit, complain, print};
use crate::demo::{self, DemoError, DemoOutput, DemoSettings};

pub(super) fn demo(arguments: &Demo) -> Exit {
    let settings = DemoSettings {
        duration: arguments.seconds.map(Duration::from_secs),
        seed: arguments.seed,
        sources: arguments.sources as usize,
        hosts: arguments.hosts as usize,
        speed: f64::from(arguments.speed),
        log: arguments.log.clone(),
    };
    let output = match !arguments.json && std::io::stdout().is_terminal() {
        // https://no-color.org: set and not empty.
        true => DemoOutput::Screen { with_colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) },
        false => DemoOutput::Lines,
    };
    match actix_rt::System::new().block_on(demo::run(&settings, output)) {
        Ok(summary) => {
            let text = if arguments.json { format!("{:#}\n", summary.for_programs()) } else { summary.for_people() };
            match print(&text) {
                Exit::Success if !summary.holds_true() => {
                    complain(&"not everything that is promised was kept");
                    Exit::Failure
                }
                exit => exit,
            }
        }
        Err(error) => {
            complain(&error);
            match error {
                DemoError::Escalated(_) => Exit::Escalated,
                _ => Exit::Failure,
            }
        }
    }
}
