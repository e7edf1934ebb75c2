//! What a user can do with one source, and its settings.

use actix_web::http::Method;
use actix_web::web;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::elements::{action_form, button_form, encoded, foreign};
use super::form::SignedForm;
use super::page::{PageResult, go_to};
use crate::api::views::{BackfillView, ConfigurationRow, DisableBody, PollAnswer, RestBody, SourceView};
use crate::api::{LocalApi, Problem, SITE};

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource(format!("{SITE}/sources/{{id:[0-9]+}}/{{action}}")).post(act));
}

/// How long a page waits for a poll.
const POLL_WAIT_SECONDS: u32 = 10;

/// Settings of a source: name, label, key of the default.
const SETTINGS: [(&str, &str, &str); 11] = [
    ("title", "Title", ""),
    ("poll_interval_minutes", "Interval in minutes", "source.interval"),
    ("poll_delay_seconds", "Pause at its host in seconds", "source.poll-delay-seconds"),
    ("max_failures", "Permanent failures that disable it", "source.max-failures"),
    ("max_backoff_hours", "Longest backoff in hours", "source.max-backoff-hours"),
    ("backlog", "Older entries (skip, keep, all)", "source.backlog"),
    ("full_text", "Full text (off, auto, always)", "source.full-text"),
    ("user_agent", "User agent", "http.user-agent"),
    ("proxy", "Proxy (URL, or none)", "http.proxy"),
    ("websub", "Pushes of hubs (on, off)", ""),
    ("podcast_id", "Podcast (X accounts only)", ""),
];

pub(super) fn actions(local: &LocalApi, source: &SourceView) -> Markup {
    let path = |action: &str| format!("/sources/{}/{action}", source.id);
    html! {
        @if local.browser.can_write {
            section.panel {
                h2 { "Actions" }
                div.actions {
                    (button_form(local, &path("poll"), "Poll now", &[]))
                    (button_form(local, &path("poll"), "Force a poll", &[("force", "true")]))
                    @if source.state == "disabled" { (button_form(local, &path("enable"), "Enable", &[])) }
                    @if source.state == "resting" { (button_form(local, &path("wake"), "Wake (end the rest)", &[])) }
                    @if source.consecutive_failures > 0 { (button_form(local, &path("reset"), "Reset failures", &[])) }
                }
                p.soft { "“Poll now” obeys Retry-After and holds; “Force a poll” does not." }
                div.actions {
                    @if source.state != "disabled" {
                        (action_form(local, &path("disable"), html! {
                            div.field { label for="disable-reason" { "Why it is disabled" } input #disable-reason name="reason" maxlength="500"; }
                            button type="submit" { "Disable" }
                        }))
                    }
                    @if source.state != "resting" && source.state != "disabled" {
                        (action_form(local, &path("rest"), html! {
                            div.field { label for="rest-reason" { "Why it rests" } input #rest-reason name="reason" required maxlength="500"; }
                            button type="submit" { "Rest" }
                        }))
                    }
                    (action_form(local, &path("backfill"), html! {
                        div.field { label for="pages" { "Older pages" } input #pages name="pages" type="number" min="1" max="100" value="5"; }
                        button type="submit" { "Backfill" }
                    }))
                }
                div.actions {
                    @for label in &source.labels {
                        (action_form(local, &path("labels"), html! {
                            input type="hidden" name="remove" value=(label);
                            button type="submit" aria-label=(format!("Remove the label {label}")) { (foreign(label)) " ×" }
                        }))
                    }
                    (action_form(local, &path("labels"), html! {
                        div.field { label for="add-label" { "New label" } input #add-label name="add" required maxlength="200"; }
                        button type="submit" { "Add label" }
                    }))
                }
                details #access {
                    summary { "Login and headers" }
                    p { (if source.has_access { "Requests carry a login or headers. New values replace all of them." } else { "Requests carry neither a login nor headers." }) }
                    (action_form(local, &path("access"), html! { div.stacked {
                        label for="login-name" { "Name" } input #login-name name="name" autocomplete="off";
                        label for="login-password" { "Password" } input #login-password name="password" type="password" autocomplete="new-password";
                        label for="headers" { "Headers, one NAME: VALUE on each line" } textarea #headers name="headers" rows="3" spellcheck="false" {}
                        button type="submit" { "Set" }
                    } }))
                    @if source.has_access { (button_form(local, &path("access-clear"), "Remove login and headers", &[])) }
                }
                details #remove {
                    summary { "Remove" }
                    (action_form(local, &path("remove"), html! {
                        label { input type="checkbox" name="sure" required; " Yes, remove the source with its posts" }
                        button.danger type="submit" { "Remove" }
                    }))
                }
            }
        }
    }
}

pub(super) fn settings(local: &LocalApi, source: &SourceView, defaults: &[ConfigurationRow]) -> Markup {
    let own = serde_json::to_value(source).unwrap_or_default();
    let default = |key: &str| {
        let of_type = format!("{key}.{}", source.source_type);
        let row = defaults.iter().find(|row| row.key == of_type || row.key == key && !key.is_empty());
        row.map(|row| plain(&row.value)).filter(|value| !value.is_empty())
    };
    html! {
        section.panel {
            h2 { "Settings" }
            @let fields = html! {
                div.facts {
                    @for (name, label, key) in SETTINGS {
                        @let value = plain(&own[name]);
                        div.field {
                            label for=(format!("set-{name}")) { (label) }
                            @if local.browser.can_write {
                                input id=(format!("set-{name}")) name=(name) value=(value) maxlength="2000"
                                    placeholder=(default(key).unwrap_or_else(|| "not set".to_owned()));
                            } @else {
                                span { @if value.is_empty() { span.none { "not set" } } @else { (foreign(&value)) } }
                            }
                            @if let Some(default) = default(key) { span.soft { "default: " (foreign(&default)) } }
                        }
                    }
                }
            };
            @if local.browser.can_write {
                (action_form(local, &format!("/sources/{}/settings", source.id), html! {
                    (fields)
                    p.soft { "An empty field uses the default." }
                    div.actions {
                        button type="submit" { "Save settings" }
                    }
                }))
                (action_form(local, &format!("/sources/{}/url", source.id), html! {
                    div.actions {
                        div.field { label for="set-url" { "New URL (failures and position are reset)" } input #set-url name="url" required maxlength="2000" size="50"; }
                        button type="submit" { "Change URL" }
                    }
                }))
            } @else { (fields) }
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

async fn act(local: LocalApi, path: web::Path<(String, String)>, form: SignedForm) -> PageResult {
    let (id, action) = path.into_inner();
    let (here, api) = (format!("/sources/{}", encoded(&id)), format!("/sources/{}", encoded(&id)));
    let nothing = None::<&()>;
    let notice = match action.as_str() {
        "poll" => {
            let force = form.is_checked("force");
            let path = format!("{api}/poll?wait={POLL_WAIT_SECONDS}&force={force}");
            polled(local.change(Method::POST, &path, nothing).await?.json()?)
        }
        "enable" => {
            local.change(Method::POST, &format!("{api}/enable"), nothing).await?;
            "The source is enabled.".to_owned()
        }
        "disable" => {
            let body = DisableBody { reason: form.given("reason") };
            local.change(Method::POST, &format!("{api}/disable"), Some(&body)).await?;
            "The source is disabled.".to_owned()
        }
        "rest" => {
            let body = RestBody { reason: form.text("reason").to_owned() };
            local.change(Method::PATCH, &format!("{api}/feed-disable"), Some(&body)).await?;
            "The source rests.".to_owned()
        }
        "wake" => {
            local.change(Method::PATCH, &format!("{api}/feed-enable"), nothing).await?;
            "The rest is over.".to_owned()
        }
        "reset" => {
            local.change(Method::POST, &format!("{api}/reset"), nothing).await?;
            "The failure counters are reset.".to_owned()
        }
        "backfill" => {
            let body = json!({ "pages": form.number("pages")? });
            let done: BackfillView =
                local.change(Method::POST, &format!("{api}/backfill"), Some(&body)).await?.json()?;
            format!("{} pages read, {} new posts: {}.", done.pages, done.new_posts, done.reason)
        }
        "labels" => {
            let (add, remove) = (form.given("add"), form.given("remove"));
            let body = json!({ "add_labels": Vec::from_iter(&add), "remove_labels": Vec::from_iter(&remove) });
            local.change(Method::PATCH, &api, Some(&body)).await?;
            match (add, remove) {
                (Some(label), _) => format!("The source has the label {label}."),
                (None, label) => format!("The source no longer has the label {}.", label.unwrap_or_default()),
            }
        }
        "settings" => {
            local.change(Method::PATCH, &api, Some(&changed_settings(&form)?)).await?;
            "The settings are saved.".to_owned()
        }
        "url" => {
            local.change(Method::PATCH, &api, Some(&json!({ "url": form.text("url") }))).await?;
            "The URL is changed.".to_owned()
        }
        "access" => {
            local.change(Method::PUT, &format!("{api}/access"), Some(&access(&form)?)).await?;
            "Login and headers are set.".to_owned()
        }
        "access-clear" => {
            local.change(Method::DELETE, &format!("{api}/access"), nothing).await?;
            "Login and headers are removed.".to_owned()
        }
        "remove" => {
            if !form.is_checked("sure") {
                return Err(Problem::invalid("confirm that the source is to be removed").at("sure").into());
            }
            local.change(Method::DELETE, &api, nothing).await?;
            return Ok(go_to("/sources", &format!("Source {id} is removed with its posts.")));
        }
        _ => return Err(Problem::not_found("there is no such action").into()),
    };
    Ok(go_to(&here, &notice))
}

fn polled(answer: PollAnswer) -> String {
    match answer {
        PollAnswer::Done { poll } => match (&poll.error, &poll.entries_text) {
            (Some(error), _) => format!("The poll failed: {error}."),
            (None, Some(entries)) => format!("Polled: {entries}."),
            (None, None) => "Polled: unchanged.".to_owned(),
        },
        PollAnswer::Requested { not_before, reason } => match not_before {
            Some(at) => format!("The poll comes at {at}: {reason}."),
            None => format!("The poll has to wait: {reason}."),
        },
        PollAnswer::Refused { reason } => format!("Refused: {reason}."),
    }
}

/// Every field of the form: its value, or null for the default.
fn changed_settings(form: &SignedForm) -> Result<Map<String, Value>, Problem> {
    let mut changes = Map::new();
    for (name, ..) in SETTINGS {
        if form.first(name).is_none() {
            continue;
        }
        let is_number = name.ends_with("_minutes")
            || name.ends_with("_seconds")
            || name.starts_with("max_")
            || name.ends_with("_id");
        let value = match form.given(name) {
            None => Value::Null,
            Some(_) if is_number => form.number(name)?.map_or(Value::Null, Value::from),
            Some(text) => Value::from(text),
        };
        changes.insert(name.to_owned(), value);
    }
    Ok(changes)
}

fn access(form: &SignedForm) -> Result<Value, Problem> {
    let mut headers = Map::new();
    for line in form.text("headers").lines().map(str::trim).filter(|line| !line.is_empty()) {
        let Some((name, value)) = line.split_once(':') else {
            return Err(Problem::invalid("write NAME: VALUE on each line").at("headers"));
        };
        headers.insert(name.trim().to_owned(), Value::from(value.trim()));
    }
    let mut body = Map::new();
    if let Some(name) = form.given("name") {
        body.insert(
            "login".to_owned(),
            json!({ "name": name, "password": form.first("password").unwrap_or_default() }),
        );
    }
    if !headers.is_empty() {
        body.insert("headers".to_owned(), Value::Object(headers));
    }
    Ok(Value::Object(body))
}
