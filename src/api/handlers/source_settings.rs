//! Validates the settings of a source.

use url::Url;

use super::super::problem::Problem;
use super::super::views::{NewSourceBody, SourceChanges};
use crate::model::{SourceSettings, SourceType, account_name, one_spelling, type_at};

const URL_BYTES_MAX: usize = 4096;
const TITLE_CHARS_MAX: usize = 500;
const LABELS_MAX: usize = 16;
const LABEL_CHARS_MAX: usize = 100;

pub(super) fn changed(settings: &SourceSettings, changes: &SourceChanges) -> SourceSettings {
    let mut new = settings.clone();
    if let Some(source_type) = changes.source_type {
        new.source_type = source_type;
    }
    // Another form of the same URL neither resets the source nor replaces the stored form.
    let url = one_spelling(changes.url.as_deref().unwrap_or(&settings.url), new.source_type);
    if new.source_type != settings.source_type || url != one_spelling(&settings.url, new.source_type) {
        new.url = url;
    }
    if let Some(title) = &changes.title {
        new.title = title.clone();
    }
    new.podcast_id = changes.podcast_id.unwrap_or(new.podcast_id);
    new.poll_interval_minutes = changes.poll_interval_minutes.unwrap_or(new.poll_interval_minutes);
    new.poll_delay_seconds = changes.poll_delay_seconds.unwrap_or(new.poll_delay_seconds);
    new.max_failures = changes.max_failures.unwrap_or(new.max_failures);
    new.max_backoff_hours = changes.max_backoff_hours.unwrap_or(new.max_backoff_hours);
    new
}

/// Validates changes. An unchanged URL was validated when it was set.
pub(super) fn check_changes(settings: &SourceSettings, changes: &SourceChanges) -> Result<(), Problem> {
    let new = changed(settings, changes);
    if let Some(url) = changes.url.as_deref().or(changes.source_type.map(|_| settings.url.as_str())) {
        check_place(url.trim(), new.source_type)?;
    }
    check(&new)
}

/// Validates a new source and makes its URL canonical.
pub(super) fn settings(body: &NewSourceBody) -> Result<(SourceSettings, Vec<String>), Problem> {
    let url = body.url.trim();
    let by_place = || type_at(url).map_err(|error| Problem::invalid(format!("{error}; or give a type")).at("url"));
    let source_type = body.source_type.map_or_else(by_place, Ok)?;
    check_place(url, source_type)?;
    let settings = SourceSettings {
        podcast_id: body.podcast_id,
        source_type,
        url: url.to_owned(),
        title: body.title.clone(),
        poll_interval_minutes: body.poll_interval_minutes,
        poll_delay_seconds: body.poll_delay_seconds,
        max_failures: body.max_failures,
        max_backoff_hours: body.max_backoff_hours,
    };
    check(&settings)?;
    Ok((settings, checked_labels(&body.labels)?))
}

fn check_place(url: &str, source_type: SourceType) -> Result<(), Problem> {
    if url.is_empty() || url.len() > URL_BYTES_MAX {
        return Err(Problem::invalid(format!("a URL has 1 to {URL_BYTES_MAX} bytes")).at("url"));
    }
    // The message omits the URL, which may contain a password.
    if source_type == SourceType::Twitter {
        return account_name(url).map(|_| ()).map_err(|error| Problem::invalid(error).at("url"));
    }
    let begins = |scheme: &str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    match Url::parse(url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => Ok(()),
        Err(error) if begins("https://") || begins("http://") => {
            Err(Problem::invalid(format!("not a URL: {error}")).at("url"))
        }
        _ => Err(Problem::invalid("write a URL that begins with https:// or http://").at("url")),
    }
}

fn check(settings: &SourceSettings) -> Result<(), Problem> {
    if settings.title.as_ref().is_some_and(|title| title.chars().count() > TITLE_CHARS_MAX) {
        return Err(Problem::invalid(format!("a title has at most {TITLE_CHARS_MAX} characters")).at("title"));
    }
    let bounds = [
        ("poll_interval_minutes", settings.poll_interval_minutes, 1, 525_600),
        ("poll_delay_seconds", settings.poll_delay_seconds, 0, 86_400),
        ("max_failures", settings.max_failures, 1, 1_000_000),
        ("max_backoff_hours", settings.max_backoff_hours, 1, 8_760),
    ];
    for (field, value, min, max) in bounds {
        if value.is_some_and(|value| !(min..=max).contains(&value)) {
            return Err(Problem::invalid(format!("write a number from {min} to {max}")).at(field));
        }
    }
    Ok(())
}

pub(super) fn checked_labels(labels: &[String]) -> Result<Vec<String>, Problem> {
    let is_right = |label: &&String| (1..=LABEL_CHARS_MAX).contains(&label.trim().chars().count());
    if labels.len() > LABELS_MAX || !labels.iter().all(|label| is_right(&label)) {
        let text = format!("at most {LABELS_MAX} labels of 1 to {LABEL_CHARS_MAX} characters");
        return Err(Problem::invalid(text).at("labels"));
    }
    Ok(labels.iter().map(|label| label.trim().to_owned()).collect())
}
