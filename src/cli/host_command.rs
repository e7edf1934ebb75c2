//! `feedwarden host`: lists, shows, holds and releases hosts.

use std::time::Duration;

use clap::{ArgGroup, Args, Subcommand};
use hyper::Method;
use serde_json::json;
use url::form_urlencoded::byte_serialize;

use super::client::{ApiClient, Done};
use super::listing::{list_all, paging};
use super::output_style::{OutputStyle, facts, state_style};
use super::source_arguments::Paging;
use super::table::{Cell, Column};
use super::times::{duration, future_moment, localized, second};
use crate::api::views::{EnabledSources, HostView};
use crate::model::Timestamp;

const COLUMNS: &[Column] = &[
    Column::name("HOST"),
    Column::word("STATE").leaves(1),
    Column::word("LAST REQUEST").leaves(3),
    Column::text("NEXT REQUEST").leaves(2),
];

#[derive(Debug, Subcommand)]
pub(super) enum HostCommand {
    /// List known hosts
    List(Paging),
    /// Show a host with its state
    Show(HostArgument),
    /// Hold a host: no requests for a while
    Hold(HoldHostArguments),
    /// End the hold of a host
    Release(HostArgument),
    /// Close the circuit breaker of a host
    ResetBreaker(HostArgument),
    /// Enable every disabled source of a host
    EnableSources(HostArgument),
}

#[derive(Args, Debug)]
pub(super) struct HostArgument {
    /// Name of the host
    host: String,
}

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("end").required(true).args(["seconds", "length", "until"]))]
pub(super) struct HoldHostArguments {
    /// Name of the host
    host: String,
    /// Length of the hold in seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Length of the hold, such as 90m, 2h or 1d12h
    #[arg(long = "for", value_name = "DURATION", value_parser = duration)]
    length: Option<Duration>,
    /// End of the hold: tomorrow, 18:00, 2026-11-16, "2026-11-16 18:00", 2026-11-16T18:00:00Z
    #[arg(long, value_name = "TIME", value_parser = future_moment)]
    until: Option<Timestamp>,
    /// Reason to record
    #[arg(long)]
    reason: String,
}

pub(super) async fn host(client: &ApiClient, command: HostCommand) -> Done {
    match command {
        HostCommand::List(some) => list_all(client, "/hosts", &[], &paging(&some), COLUMNS, row).await,
        HostCommand::Show(named) => client.show(client.get(&path(&named.host, "")).await?, one),
        HostCommand::Hold(hold) => {
            let mut body = json!({ "reason": hold.reason });
            match (hold.seconds.or(hold.length.map(|length| length.as_secs())), hold.until) {
                (Some(seconds), _) => body["seconds"] = json!(seconds),
                (None, until) => body["until"] = json!(until),
            }
            client.show(client.send(Method::POST, &path(&hold.host, "/hold"), &body).await?, one)
        }
        HostCommand::Release(named) => client.show(client.post(&path(&named.host, "/release")).await?, one),
        HostCommand::ResetBreaker(named) => client.show(client.post(&path(&named.host, "/reset-breaker")).await?, one),
        HostCommand::EnableSources(named) => {
            let value = client.post(&path(&named.host, "/enable-sources")).await?;
            client.show(value, |done: EnabledSources| format!("{} sources are enabled\n", done.enabled))
        }
    }
}

/// Escapes the name, which becomes part of a path.
fn path(host: &str, what: &str) -> String {
    let name: String = byte_serialize(host.as_bytes()).collect();
    format!("/hosts/{}{what}", name.replace('+', "%20"))
}

fn row(host: &HostView) -> Vec<Cell> {
    vec![
        Cell::new(&host.host),
        Cell::styled(&host.state, state_style(&host.state)),
        Cell::maybe_time(host.last_asked_at),
        Cell::new(localized(&host.turn)),
    ]
}

fn one(host: HostView) -> String {
    let held = host
        .held_until
        .map(|until| format!("until {}: {}", second(until), host.held_reason.as_deref().unwrap_or("no reason given")));
    let silent = (host.silent_requests > 0).then(|| format!("{} consecutive requests", host.silent_requests));
    facts(
        OutputStyle::of_output(),
        &[
            ("host", Some(host.host)),
            ("state", Some(host.state)),
            ("next request", Some(localized(&host.turn))),
            ("last request", host.last_asked_at.map(second)),
            ("held", held),
            ("no response", silent),
            ("breaker", host.breaker_open_until.map(|until| format!("open until {}", second(until)))),
        ],
    )
}
