//! `feedwarden dashboard`.

use std::process::{Command, Stdio};

use clap::Args;
use hyper::Method;
use serde_json::json;

use super::client::{ApiClient, Done, read};
use crate::api::views::DashboardLink;

#[derive(Args, Debug)]
pub(super) struct DashboardArguments {
    /// Only print the URL, and open no browser
    #[arg(long)]
    no_open: bool,
    /// Port on loopback, such as for `ssh -L`; by default any free one
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

/// Programs that open a URL in the user's browser, the first that there is.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

pub(super) async fn dashboard(client: &ApiClient, arguments: &DashboardArguments) -> Done {
    let answer = client.send(Method::POST, "/dashboard", &json!({ "port": arguments.port })).await?;
    let link: DashboardLink = read(answer.clone())?;
    let done = client.show(answer, |link: DashboardLink| format!("{}\n", link.url))?;
    let seconds = link.valid_seconds;
    eprintln!("The link signs one browser on this machine in and can be used for {seconds} seconds.");
    if !arguments.no_open && !OPENERS.iter().any(|opener| opens(opener, &link.url)) {
        eprintln!("No program to open it was found: open it in a browser. From another machine, use ssh -L.");
    }
    Ok(done)
}

/// Starts the program; how the browser fares is not waited for.
fn opens(opener: &str, url: &str) -> bool {
    let (input, output) = (Stdio::null(), Stdio::null());
    Command::new(opener).arg(url).stdin(input).stdout(output).stderr(Stdio::null()).spawn().is_ok()
}
