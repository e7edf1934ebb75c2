//! Settings: the effective configuration, the pause of polling, the log level.

use std::collections::BTreeMap;

use actix_web::http::{Method, StatusCode};
use actix_web::web;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::elements::{action_form, button_form, cut, empty, facts, foreign, number, relative_time, state};
use super::form::SignedForm;
use super::page::{HtmlPage, PageResult, go_to};
use crate::api::views::{ConfigurationRow, LogLevel, Reloaded, SchedulerView};
use crate::api::{LocalApi, ProblemView, SITE};
use crate::model::Timestamp;

/// Origin of values that nobody has set.
const BUILT_IN: &str = "built-in";
const LEVELS: [&str; 6] = ["critical", "error", "warn", "info", "debug", "trace"];
/// Longest list of keys in a message, in characters.
const KEYS_CHARS_MAX: usize = 1_000;

pub(super) fn routes(config: &mut web::ServiceConfig) {
    let at = |path: &str| web::resource(format!("{SITE}/settings{path}"));
    config
        .service(at("").get(settings))
        .service(at("/pause").post(pause))
        .service(at("/resume").post(resume))
        .service(at("/reload").post(reload))
        .service(at("/log-level").post(set_log_level));
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SettingsFilterQuery {
    text: String,
    /// `changed` lists only values that differ from the default.
    show: String,
    notice: Option<String>,
}

async fn settings(local: LocalApi, filter: web::Query<SettingsFilterQuery>) -> PageResult {
    let filter = filter.into_inner();
    let now = local.now();
    let rows: Vec<ConfigurationRow> = local.get("/configuration").await?;
    let scheduler: Option<SchedulerView> = match local.get("/scheduler").await {
        Ok(scheduler) => Some(scheduler),
        // The rest of the page helps while the scheduler restarts.
        Err(problem) if problem.status == StatusCode::SERVICE_UNAVAILABLE.as_u16() => None,
        Err(problem) => return Err(problem.into()),
    };
    let level: LogLevel = local.get("/log-level").await?;
    let content = html! {
        h1 { "Settings" }
        div.panels {
            section.panel #polling data-live {
                h2 { "Polling" }
                (polling(&local, scheduler.as_ref(), now))
            }
            section.panel { h2 { "Log level" } (log_level(&local, &level)) }
            @if local.browser.can_write {
                section.panel {
                    h2 { "Reload" }
                    p { "Reads the configuration file again. If it has mistakes, nothing changes." }
                    (button_form(&local, "/settings/reload", "Reload the configuration", &[]))
                }
            }
        }
        section.panel {
            h2 { "Configuration" }
            (filter_form(&filter))
            (configuration(&rows, &filter))
        }
    };
    Ok(HtmlPage::new(&local, "Settings", "Settings").live().notice(filter.notice.clone()).show(content))
}

fn polling(local: &LocalApi, scheduler: Option<&SchedulerView>, now: Timestamp) -> Markup {
    let Some(scheduler) = scheduler else {
        return html! { p.problem { "The scheduler does not answer; look at the supervision page." } };
    };
    let (action, label) = match scheduler.is_paused {
        true => ("/settings/resume", "Resume polling"),
        false => ("/settings/pause", "Pause polling"),
    };
    html! {
        (facts(vec![
            ("State", html! {
                (state(if scheduler.is_paused { "paused" } else { "running" }))
                @if let Some(since) = scheduler.paused_since { " since " (relative_time(since, now)) }
            }),
            ("Scheduled sources", number(scheduler.scheduled)),
            ("Due and waiting", number(scheduler.waiting)),
            ("Polls in flight", number(scheduler.under_way)),
        ]))
        @if !scheduler.is_loaded { p.soft { "Not all sources are loaded yet." } }
        (button_form(local, action, label, &[]))
        p.soft { "A pause survives a restart. In a fleet, it concerns all nodes." }
    }
}

fn log_level(local: &LocalApi, level: &LogLevel) -> Markup {
    html! {
        p { "Records of level " strong { (level.level) } " and above are written." }
        (action_form(local, "/settings/log-level", html! {
            div.row {
                div.field {
                    label for="level" { "Level until the next restart" }
                    select #level name="level" {
                        @for name in LEVELS { option value=(name) selected[name == level.level] { (name) } }
                    }
                }
                button type="submit" { "Change" }
            }
        }))
    }
}

fn filter_form(filter: &SettingsFilterQuery) -> Markup {
    html! {
        form.filters method="get" action=(format!("{SITE}/settings")) role="search" {
            div.field {
                label for="text" { "Key, value or origin contains" }
                input #text type="search" name="text" value=(filter.text) maxlength="200";
            }
            div.field {
                label for="show" { "Show" }
                select #show name="show" {
                    option value="" { "all keys" }
                    option value="changed" selected[filter.show == "changed"] { "keys that differ from the default" }
                }
            }
            button.primary type="submit" { "Show" }
        }
    }
}

fn configuration(rows: &[ConfigurationRow], filter: &SettingsFilterQuery) -> Markup {
    let text = filter.text.trim().to_lowercase();
    let is_shown = |row: &&ConfigurationRow| {
        let texts = [&row.key, &row.origin, &shown(&row.value)];
        let matches = texts.iter().any(|field| field.to_lowercase().contains(&text));
        matches && (filter.show != "changed" || is_set(row))
    };
    let mut sections: BTreeMap<&str, Vec<&ConfigurationRow>> = BTreeMap::new();
    for row in rows.iter().filter(is_shown) {
        let section = row.key.split_once('.').map_or("", |(section, _)| section);
        sections.entry(section).or_default().push(row);
    }
    html! {
        @if sections.is_empty() { (empty("No key matches. Change the filter to see more.")) }
        @for (section, rows) in &sections {
            h3 { @if section.is_empty() { "General" } @else { (section) } }
            div.scroll { table.cards {
                thead { tr {
                    th scope="col" { "Key" }
                    th scope="col" { "Value" }
                    th scope="col" { "Origin" }
                } }
                tbody {
                    @for row in rows {
                        tr.marked[is_set(row)] {
                            td data-label="Key" { code { (row.key) } }
                            td data-label="Value" { (value(&row.value)) }
                            td data-label="Origin" {
                                span {
                                    (foreign(&row.origin))
                                    @if is_set(row) { " " (state("set")) }
                                }
                            }
                        }
                    }
                }
            } }
        }
    }
}

fn value(value: &Value) -> Markup {
    match value {
        Value::String(text) if text.is_empty() => html! { span.none { "empty" } },
        value => html! { span.mono { (foreign(&shown(value))) } },
    }
}

fn is_set(row: &ConfigurationRow) -> bool {
    row.origin != BUILT_IN
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    }
}

async fn pause(local: LocalApi, _form: SignedForm) -> PageResult {
    switch(&local, "/scheduler/pause", "Polling is paused.").await
}

async fn resume(local: LocalApi, _form: SignedForm) -> PageResult {
    switch(&local, "/scheduler/resume", "Polling goes on.").await
}

async fn switch(local: &LocalApi, path: &str, done: &str) -> PageResult {
    let scheduler: SchedulerView = local.change(Method::POST, path, None::<&()>).await?.json()?;
    let notice = match scheduler.nodes_pending.as_slice() {
        [] => done.to_owned(),
        nodes => format!("{done} Nodes that follow with their next renewal: {}.", keys(nodes)),
    };
    Ok(go_to("/settings", &notice))
}

async fn reload(local: LocalApi, _form: SignedForm) -> PageResult {
    let answer = local.change(Method::POST, "/configuration/reload", None::<&()>).await;
    let reloaded: Reloaded = match answer {
        Ok(answer) => answer.json()?,
        Err(problem) => {
            let mistakes = mistakes(&problem);
            if mistakes.is_empty() {
                return Err(problem.into());
            }
            return Ok(mistakes_page(&local, &mistakes));
        }
    };
    let mut notice = match reloaded.changed.as_slice() {
        [] => "The configuration was read again; no value changed.".to_owned(),
        changed => format!("The configuration was read again. New values apply now: {}.", keys(changed)),
    };
    if !reloaded.needs_restart.is_empty() {
        notice += &format!(" New values that apply after a restart: {}.", keys(&reloaded.needs_restart));
    }
    Ok(go_to("/settings", &notice))
}

fn mistakes(problem: &ProblemView) -> Vec<String> {
    let found = problem.context.as_ref().and_then(|context| context.get("mistakes")).and_then(Value::as_array);
    found.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn mistakes_page(local: &LocalApi, mistakes: &[String]) -> actix_web::HttpResponse {
    HtmlPage::new(local, "Settings", "Invalid configuration").status(StatusCode::BAD_REQUEST).show(html! {
        h1 { "Invalid configuration" }
        p.problem role="alert" { "Nothing changed. Correct the configuration, then reload it again." }
        ul { @for mistake in mistakes { li { (foreign(mistake)) } } }
        p { a href=(format!("{SITE}/settings")) { "Settings" } }
    })
}

fn keys(names: &[String]) -> String {
    let (text, is_cut) = cut(&names.join(", "), KEYS_CHARS_MAX);
    if is_cut { text + "…" } else { text }
}

async fn set_log_level(local: LocalApi, form: SignedForm) -> PageResult {
    let body = LogLevel { level: form.text("level").to_owned() };
    let level: LogLevel = local.change(Method::PUT, "/log-level", Some(&body)).await?.json()?;
    Ok(go_to("/settings", &format!("The log level is {}.", level.level)))
}
