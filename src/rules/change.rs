//! Changes of a source by a person, for API, command line and import; and its move by permanent redirects.

use std::fmt;

use url::Url;

use super::due::is_requested;
use crate::model::{FailureState, Rest, RestCause, Source, SourceSettings, SourceState, Timestamp, Validators};

/// A change of a source that a person asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// New settings, optionally with enabling or disabling (`PATCH /sources/{id}`).
    Update {
        /// With another URL or type the source starts afresh.
        settings: SourceSettings,
        /// A change to true is `Enable`, a change to false is `Disable` without a reason.
        enabled: Option<bool>,
        /// Whether sources of the new type are read with a key of their podcast's owner.
        needs_owner_key: bool,
    },
    /// Enable the source and forget its failures.
    Enable,
    /// Stop polling until the source is enabled.
    Disable(Option<String>),
    /// Put the source to rest for this reason (`feed-disable`): for the cooldown of the kind of failure that the reason
    /// names, otherwise until a person ends the rest.
    Rest(String),
    /// End the rest (`feed-enable`).
    Wake,
    /// Poll as soon as publisher and host allow.
    Poll,
    /// Poll now, in spite of `Retry-After`. The order to ignore holds goes to the scheduler.
    PollForced,
    /// Forget the failures of the source, and a rest that followed from them.
    ResetFailures,
}

/// Effect of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The source is unchanged.
    Nothing,
    /// New settings; the state is kept.
    Settings,
    /// New settings; the state is reset.
    StartedAfresh,
    /// The source is enabled.
    Enabled,
    /// The source is disabled.
    Disabled,
    Resting,
    /// The rest is over.
    Awake,
    /// A poll is requested.
    PollRequested,
    /// The failures are forgotten.
    FailuresReset,
}

/// Applies a change to a source.
pub fn apply(source: &mut Source, change: Change, now: Timestamp) -> Changed {
    match change {
        Change::Update { settings, enabled, needs_owner_key } => {
            let changed = apply_settings(source, settings, needs_owner_key, now);
            match enabled.filter(|wanted| *wanted != source.state.enabled) {
                Some(true) => apply(source, Change::Enable, now),
                Some(false) => apply(source, Change::Disable(None), now),
                None => changed,
            }
        }
        Change::Enable if source.state.enabled => Changed::Nothing,
        Change::Enable => {
            source.state.enabled = true;
            source.state.disabled_reason = None;
            clean_slate(&mut source.state);
            source.state.poll_requested_at = Some(now);
            Changed::Enabled
        }
        Change::Disable(reason) => {
            source.state.enabled = false;
            source.state.disabled_reason = reason;
            Changed::Disabled
        }
        Change::Rest(reason) => {
            source.state.rest = Some(Rest { since: now, cause: RestCause::from_reason(reason) });
            // The rest replaces an earlier request, which would poll in the middle of the rest.
            if is_requested(source) {
                source.state.poll_requested_at = None;
            }
            Changed::Resting
        }
        Change::Wake => {
            clean_slate(&mut source.state);
            Changed::Awake
        }
        Change::Poll => {
            source.state.poll_requested_at = Some(now);
            Changed::PollRequested
        }
        Change::PollForced => {
            source.state.poll_requested_at = Some(now);
            source.state.hints.retry_after = None;
            Changed::PollRequested
        }
        Change::ResetFailures => {
            source.state.failures = FailureState::default();
            source.state.rest = source.state.rest.take().filter(|rest| rest.cause.is_open_ended());
            Changed::FailuresReset
        }
    }
}

/// A new URL or type resets the state: an old validator would get 304 for ever (s608).
fn apply_settings(source: &mut Source, settings: SourceSettings, needs_owner_key: bool, now: Timestamp) -> Changed {
    if source.settings == settings {
        return Changed::Nothing;
    }
    let elsewhere = source.settings.url != settings.url || source.settings.source_type != settings.source_type;
    // The owner of another podcast may have the key that the source has waited for (s113).
    let may_have_key = needs_owner_key && source.settings.podcast_id != settings.podcast_id;
    source.settings = settings;
    if may_have_key {
        source.state.poll_requested_at = Some(now);
    }
    if !elsewhere {
        return Changed::Settings;
    }
    let open_ended = source.state.rest.take().filter(|rest| rest.cause.is_open_ended());
    source.state = SourceState {
        enabled: source.state.enabled,
        disabled_reason: source.state.disabled_reason.take(),
        first_polled_at: source.state.first_polled_at,
        last_polled: source.state.last_polled,
        poll_requested_at: Some(now),
        rest: open_ended,
        ..SourceState::default()
    };
    Changed::StartedAfresh
}

/// Gives a source the URL that its publisher moved it to (`rules::moved`). It is the same feed, so its state is kept,
/// except for its validators: they belong to a URL (p07).
pub fn relocate(source: &mut Source, url: String) {
    source.settings.url = with_login_of(&source.settings.url, &url).unwrap_or(url);
    source.state.validators = Validators::default();
    source.state.moved = None;
}

/// The new URL with the login of the old one, if both have the same origin. Other origins never got the login (p23),
/// and answered without it.
fn with_login_of(old: &str, new: &str) -> Option<String> {
    let (old, mut new) = (Url::parse(old).ok()?, Url::parse(new).ok()?);
    let has_login = |url: &Url| !url.username().is_empty() || url.password().is_some();
    if old.origin() != new.origin() || !has_login(&old) || has_login(&new) {
        return None;
    }
    new.set_username(old.username()).ok()?;
    new.set_password(old.password()).ok()?;
    Some(new.into())
}

fn clean_slate(state: &mut SourceState) {
    state.failures = FailureState::default();
    state.rest = None;
}

impl fmt::Display for Changed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Changed::Nothing => "nothing changed",
            Changed::Settings => "settings changed",
            Changed::StartedAfresh => "settings changed; it starts afresh",
            Changed::Enabled => "enabled, with a clean slate",
            Changed::Disabled => "disabled",
            Changed::Resting => "resting",
            Changed::Awake => "awake, with a clean slate",
            Changed::PollRequested => "polled as soon as its publisher and its host allow",
            Changed::FailuresReset => "failures forgotten",
        })
    }
}

#[cfg(test)]
#[path = "change_tests.rs"]
mod tests;
