//! `feedwarden demo`: the daemon, or a fleet of them, on a simulated web.

use std::io::IsTerminal;
use std::time::Duration;

use serde_json::Value;

use super::arguments::Demo;
use super::{Exit, complain, print};
use crate::demo::{self, DemoError, DemoOutput, DemoSettings, FleetDemoSettings};

/// Summary of either demo.
struct DemoResult {
    for_people: String,
    for_programs: Value,
    holds_true: bool,
}

pub(super) fn demo(arguments: &Demo) -> Exit {
    let output = match !arguments.json && std::io::stdout().is_terminal() {
        // https://no-color.org: set and not empty.
        true => DemoOutput::Screen { with_colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) },
        false => DemoOutput::Lines,
    };
    let result = actix_rt::System::new().block_on(async {
        match arguments.nodes {
            Some(nodes) => of_fleet(arguments, nodes, output).await,
            None => of_daemon(arguments, output).await,
        }
    });
    match result {
        Ok(DemoResult { for_people, for_programs, holds_true }) => {
            let text = if arguments.json { format!("{for_programs:#}\n") } else { for_people };
            match print(&text) {
                Exit::Success if !holds_true => {
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

async fn of_daemon(arguments: &Demo, output: DemoOutput) -> Result<DemoResult, DemoError> {
    let settings = DemoSettings {
        duration: arguments.seconds.map(Duration::from_secs),
        seed: arguments.seed,
        sources: arguments.sources as usize,
        hosts: arguments.hosts as usize,
        speed: f64::from(arguments.speed),
        log: arguments.log.clone(),
    };
    let summary = demo::run(&settings, output).await?;
    Ok(DemoResult {
        for_people: summary.for_people(),
        for_programs: summary.for_programs(),
        holds_true: summary.holds_true(),
    })
}

async fn of_fleet(arguments: &Demo, nodes: u8, output: DemoOutput) -> Result<DemoResult, DemoError> {
    let settings = FleetDemoSettings {
        nodes: nodes.into(),
        duration: arguments.seconds.map(Duration::from_secs),
        seed: arguments.seed,
        sources: arguments.sources as usize,
        hosts: arguments.hosts as usize,
        log: arguments.log.clone(),
    };
    let summary = demo::run_fleet(&settings, output).await?;
    Ok(DemoResult {
        for_people: summary.for_people(),
        for_programs: summary.for_programs(),
        holds_true: summary.holds_true(),
    })
}
