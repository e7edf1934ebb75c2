//! Webhooks: their deliveries, and forms that add, change, test, enable, disable and remove them.

use actix_web::http::Method;
use actix_web::{HttpResponse, web};
use maud::{Markup, html};
use serde_json::{Value, json};

use super::elements::{
    action_form, button_form, empty, facts, foreign, next_page, number, relative_time, state, time_or,
};
use super::form::SignedForm;
use super::overview::Notice;
use super::page::{HtmlPage, PageResult, go_to};
use crate::api::views::{DisableBody, LabelView, Page as ListPage, PostView, WebhookBody, WebhookTest, WebhookView};
use crate::api::{LocalApi, Problem, SITE};
use crate::model::{DeliveryFormat, EventType, Timestamp};

const PAGE_WEBHOOKS: usize = 50;

pub(super) fn routes(config: &mut web::ServiceConfig) {
    let at = |path: &str| web::resource(format!("{SITE}/webhooks{path}"));
    config
        .service(at("").get(list).post(add))
        .service(at("/{id}").get(one))
        .service(at("/{id}/change").post(change))
        .service(at("/{id}/test").post(test))
        .service(at("/{id}/enable").post(enable))
        .service(at("/{id}/disable").post(disable))
        .service(at("/{id}/remove").post(remove));
}

/// A webhook with the oldest post that it has not dealt with.
struct ShownWebhook {
    webhook: WebhookView,
    pending_since: Option<Timestamp>,
}

async fn shown(local: &LocalApi, webhook: WebhookView) -> Result<ShownWebhook, crate::api::ProblemView> {
    let path = format!("/posts?limit=1&changed_after={}", webhook.last_change_number);
    let pending: ListPage<PostView> = local.get(&path).await?;
    let pending_since = pending.items.first().map(|post| post.changed_at.unwrap_or(post.created_at));
    Ok(ShownWebhook { webhook, pending_since })
}

#[derive(serde::Deserialize)]
struct ListQuery {
    cursor: Option<String>,
    notice: Option<String>,
}

async fn list(local: LocalApi, query: web::Query<ListQuery>) -> PageResult {
    let query = query.into_inner();
    let cursor = query.cursor.unwrap_or_default();
    let limit = PAGE_WEBHOOKS.to_string();
    let path = super::elements::query(&[("limit", &limit), ("cursor", &cursor)]);
    let webhooks: ListPage<WebhookView> = local.get(&format!("/webhooks{path}")).await?;
    let labels: ListPage<LabelView> = local.get("/labels").await?;
    let now = local.now();
    let mut items = Vec::new();
    for webhook in webhooks.items {
        items.push(shown(&local, webhook).await?);
    }
    let content = html! {
        h1 { "Webhooks" }
        div #webhooks data-live {
            @if items.is_empty() {
                (empty("There are no webhooks. Add one below: new and changed posts are then sent to its URL."))
            }
            @for item in &items { (panel(&local, item, now)) }
            (next_page("/webhooks", &[], webhooks.next_cursor.as_deref()))
        }
        (add_form(&local, &labels.items))
    };
    Ok(HtmlPage::new(&local, "Webhooks", "Webhooks").live().notice(query.notice).show(content))
}

/// One webhook, with the forms that are too large for the list.
async fn one(local: LocalApi, id: web::Path<String>, query: web::Query<Notice>) -> PageResult {
    let webhook: WebhookView = local.get(&path_of(&id)?).await?;
    let labels: ListPage<LabelView> = local.get("/labels").await?;
    let item = shown(&local, webhook).await?;
    let (webhook, now) = (&item.webhook, local.now());
    let content = html! {
        h1 { "Webhook " (foreign(&webhook.url)) }
        div #webhook data-live {
            section.panel aria-label="State" { (states(&item, now)) }
        }
        div.panels {
            @if local.browser.can_write {
                section.panel { h2 { "Change" } (change_form(&local, webhook, &labels.items)) }
                section.panel { h2 { "Test" } p { "Sends a delivery without posts." } (test_form(&local, webhook)) }
                section.panel { h2 { "Enable or disable" } (switch_forms(&local, webhook)) }
                section.panel { h2 { "Remove" } (remove_form(&local, webhook)) }
            }
        }
        p {
            a href=(format!("{SITE}/webhooks")) { "All webhooks" }
            @if local.browser.can_write {
                " · " a href=(format!("{SITE}/audit?target=webhook&target_id={}", webhook.id)) { "Audit records" }
            }
        }
    };
    Ok(HtmlPage::new(&local, "Webhooks", "Webhook").live().notice(query.into_inner().notice).show(content))
}

fn panel(local: &LocalApi, item: &ShownWebhook, now: Timestamp) -> Markup {
    let webhook = &item.webhook;
    html! {
        section.panel id=(format!("webhook-{}", webhook.id)) {
            h2 { a href=(format!("{SITE}/webhooks/{}", webhook.id)) { (foreign(&webhook.url)) } }
            (states(item, now))
            @if local.browser.can_write {
                div.actions {
                    (test_form(local, webhook))
                    @if !webhook.enabled {
                        (button_form(local, &format!("/webhooks/{}/enable", webhook.id), "Enable", &[]))
                    }
                    a.button href=(format!("{SITE}/webhooks/{}", webhook.id)) { "Change, disable or remove" }
                }
            }
        }
    }
}

fn states(item: &ShownWebhook, now: Timestamp) -> Markup {
    let webhook = &item.webhook;
    let name = match (webhook.enabled, webhook.failures) {
        (false, _) => "disabled",
        (true, 0) => "enabled",
        (true, _) => "failing",
    };
    let mut rows = vec![
        (
            "State",
            html! {
                (state(name))
                @if let Some(reason) = &webhook.disabled_reason { " " (foreign(reason)) }
            },
        ),
        ("Format", html! { (webhook.format) }),
        ("Events", html! { (webhook.events.iter().map(|event| event.name()).collect::<Vec<_>>().join(", ")) }),
        (
            "Events of",
            match &webhook.label {
                Some(label) => html! { "sources with the label " (foreign(label)) },
                None => html! { "all sources" },
            },
        ),
        ("Last delivery", time_or(webhook.last_delivered_at, "none yet")),
        ("Consecutive failures", number(webhook.failures)),
        ("Delivered up to number", number(webhook.last_change_number)),
        (
            "Behind",
            match item.pending_since {
                Some(at) => html! { "oldest waiting post is from " (relative_time(at, now)) },
                None => html! { "no, all posts are delivered or skipped" },
            },
        ),
    ];
    if let Some(at) = webhook.retry_at.filter(|_| webhook.enabled) {
        rows.push(("Next try", relative_time(at, now)));
    }
    if let Some(error) = &webhook.last_error {
        rows.push(("Last error", foreign(error)));
    }
    rows.push(("Added", super::elements::time(webhook.created_at)));
    facts(rows)
}

fn label_field(labels: &[LabelView], value: &str) -> Markup {
    html! {
        label for="label" { "Only events of sources with this label (empty: all)" }
        input #label type="text" name="label" value=(value) list="labels" autocomplete="off";
        datalist #labels { @for label in labels { option value=(label.label) {} } }
    }
}

fn format_fields(format: DeliveryFormat, events: &[EventType]) -> Markup {
    html! {
        label for="format" { "Format" }
        select #format name="format" {
            @for one in DeliveryFormat::ALL { option value=(one) selected[one == format] { (one) } }
        }
        label for="secret" { "Access token (only for matrix and ntfy)" }
        input #secret type="password" name="secret" maxlength="256" autocomplete="off";
        fieldset {
            legend { "Events" }
            @for one in EventType::ALL {
                label { input type="checkbox" name="events" value=(one) checked[events.contains(&one)]; " " (one) }
            }
        }
    }
}

fn add_form(local: &LocalApi, labels: &[LabelView]) -> Markup {
    html! {
        @if local.browser.can_write {
            section.panel #add {
                h2 { "Add a webhook" }
                (action_form(local, "/webhooks", html! {
                    div.stacked {
                        label for="url" { "URL" }
                        input #url type="url" name="url" required maxlength="2048" placeholder="https://";
                        (label_field(labels, ""))
                        (format_fields(DeliveryFormat::Standard, &EventType::POSTS))
                        button.primary type="submit" { "Add" }
                    }
                }))
                p.soft { "The secret that signs deliveries is generated and shown once." }
            }
        }
    }
}

fn change_form(local: &LocalApi, webhook: &WebhookView, labels: &[LabelView]) -> Markup {
    action_form(
        local,
        &format!("/webhooks/{}/change", webhook.id),
        html! {
            div.stacked {
                label for="url" { "New URL (empty: unchanged)" }
                input #url type="url" name="url" maxlength="2048" placeholder="https://";
                (label_field(labels, webhook.label.as_deref().unwrap_or_default()))
                (format_fields(webhook.format, &webhook.events))
                label {
                    input type="checkbox" name="new_secret" value="yes";
                    " generate a new secret; the old one is invalid at once"
                }
                button.primary type="submit" { "Change" }
            }
        },
    )
}

fn test_form(local: &LocalApi, webhook: &WebhookView) -> Markup {
    button_form(local, &format!("/webhooks/{}/test", webhook.id), "Send a test delivery", &[])
}

fn switch_forms(local: &LocalApi, webhook: &WebhookView) -> Markup {
    html! {
        @if webhook.enabled {
            (action_form(local, &format!("/webhooks/{}/disable", webhook.id), html! {
                div.stacked {
                    label for="reason" { "Reason" }
                    input #reason type="text" name="reason" maxlength="500";
                    button type="submit" { "Disable" }
                }
            }))
        } @else {
            p { "Deliveries continue where they stopped." }
            (button_form(local, &format!("/webhooks/{}/enable", webhook.id), "Enable", &[]))
        }
    }
}

fn remove_form(local: &LocalApi, webhook: &WebhookView) -> Markup {
    action_form(
        local,
        &format!("/webhooks/{}/remove", webhook.id),
        html! {
            div.stacked {
                label { input type="checkbox" name="confirmed" value="yes" required; " yes, remove this webhook" }
                button.danger type="submit" { "Remove" }
            }
        },
    )
}

async fn add(local: LocalApi, form: SignedForm) -> PageResult {
    let (format, events) = chosen(&form)?;
    let body = WebhookBody {
        url: form.text("url").to_owned(),
        secret: form.given("secret"),
        label: form.given("label"),
        format,
        events,
    };
    let webhook: WebhookView = local.change(Method::POST, "/webhooks", Some(&body)).await?.json()?;
    Ok(secret_page(&local, "Webhook added", &webhook))
}

async fn change(local: LocalApi, id: web::Path<String>, form: SignedForm) -> PageResult {
    let (format, events) = chosen(&form)?;
    let mut body = json!({ "label": form.given("label") });
    if let Some(format) = format {
        body["format"] = json!(format);
        body["events"] = json!(events);
    }
    if let Some(secret) = form.given("secret") {
        body["secret"] = json!(secret);
    }
    if let Some(url) = form.given("url") {
        body["url"] = json!(url);
    }
    if form.is_checked("new_secret") {
        body["secret"] = Value::Null;
    }
    let webhook: WebhookView = local.change(Method::PATCH, &path_of(&id)?, Some(&body)).await?.json()?;
    Ok(match webhook.secret {
        Some(_) => secret_page(&local, "Webhook changed", &webhook),
        None => go_to(&format!("/webhooks/{}", webhook.id), "The webhook was changed."),
    })
}

/// The format and the types of events that a form names; no format if the form has no field for it.
fn chosen(form: &SignedForm) -> Result<(Option<DeliveryFormat>, Vec<EventType>), Problem> {
    let format = form.given("format").map(|name| name.parse()).transpose();
    let format = format.map_err(|error| Problem::invalid(error).at("format"))?;
    let types = form.all("events").iter().map(|name| name.parse());
    Ok((format, types.collect::<Result<_, _>>().map_err(|error| Problem::invalid(error).at("events"))?))
}

/// Shows a generated secret in the answer itself: it is in no URL, and browsers keep no page of the dashboard.
fn secret_page(local: &LocalApi, title: &str, webhook: &WebhookView) -> HttpResponse {
    HtmlPage::new(local, "Webhooks", title).show(html! {
        div.narrow {
            h1 { (title) }
            p { (foreign(&webhook.url)) }
            @if let Some(secret) = &webhook.secret {
                p { "This is the secret that signs its deliveries. It is shown only now: copy it to the receiver." }
                pre { (secret) }
            }
            p { a href=(format!("{SITE}/webhooks/{}", webhook.id)) { "Go on to the webhook" } }
        }
    })
}

async fn test(local: LocalApi, id: web::Path<String>, _form: SignedForm) -> PageResult {
    let path = path_of(&id)?;
    let result: WebhookTest = local.change(Method::POST, &format!("{path}/test"), None::<&()>).await?.json()?;
    let notice = match (result.is_taken, result.error) {
        (true, _) => "The receiver accepted the test delivery.".to_owned(),
        (false, error) => {
            let error = error.unwrap_or_else(|| "unknown error".to_owned());
            format!("The test delivery failed: {}", super::elements::cut(&error, 500).0)
        }
    };
    Ok(go_to(&path, &notice))
}

async fn enable(local: LocalApi, id: web::Path<String>, _form: SignedForm) -> PageResult {
    let path = path_of(&id)?;
    local.change(Method::POST, &format!("{path}/enable"), None::<&()>).await?;
    Ok(go_to(&path, "The webhook is enabled."))
}

async fn disable(local: LocalApi, id: web::Path<String>, form: SignedForm) -> PageResult {
    let (path, body) = (path_of(&id)?, DisableBody { reason: form.given("reason") });
    local.change(Method::POST, &format!("{path}/disable"), Some(&body)).await?;
    Ok(go_to(&path, "The webhook is disabled."))
}

async fn remove(local: LocalApi, id: web::Path<String>, form: SignedForm) -> PageResult {
    if !form.is_checked("confirmed") {
        return Err(Problem::invalid("confirm that the webhook shall be removed").at("confirmed").into());
    }
    local.change(Method::DELETE, &path_of(&id)?, None::<&()>).await?;
    Ok(go_to("/webhooks", "The webhook was removed."))
}

/// Path of a webhook, in the API and below the dashboard.
fn path_of(id: &str) -> Result<String, Problem> {
    let id: i64 = id.parse().map_err(|_| Problem::not_found(format!("there is no webhook {id:?}")))?;
    Ok(format!("/webhooks/{id}"))
}
