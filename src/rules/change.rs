//! What a person's word does to a source. API, command line and import go through here. And what a
//! publisher's does who moved it.

use std::fmt;

use url::Url;

use super::due::is_requested;
use crate::model::{FailureState, Rest, RestCause, Source, SourceSettings, SourceState, Timestamp, Validators};

/// What a person wants of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Other settings, and perhaps enabled or disabled in the same step (`PATCH /sources/{id}`).
    Update {
        /// Another URL or type makes it another source, so to speak.
        settings: SourceSettings,
        /// From false to true is `Enable`, from true to false is `Disable` without a reason; else nothing happens.
        enabled: Option<bool>,
        /// Whether sources of the new type are read with a key of their podcast's owner.
        needs_owner_key: bool,
    },
    /// Poll it again, from a clean slate.
    Enable,
    /// Never poll it until enabled.
    Disable(Option<String>),
    /// Leave it alone for this reason (`feed-disable`): for the cooldown of the kind of failure that it names, or until
    /// a person ends the rest.
    Rest(String),
    /// End the rest (`feed-enable`).
    Wake,
    /// Poll it now.
    Poll,
    /// Poll it now, whatever its publisher said about coming back.
    PollForced,
    /// Forget its failures, and the rest that followed from them.
    ResetFailures,
}

/// What a change did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// The source is as it was.
    Nothing,
    /// Its settings are new; what was learned about it stays.
    Settings,
    /// Its settings are new, and so is everything that was learned about it.
    StartedAfresh,
    /// It is enabled.
    Enabled,
    /// It is disabled.
    Disabled,
    /// It rests.
    Resting,
    /// It is awake.
    Awake,
    /// It is polled as soon as its publisher and its host allow.
    PollRequested,
    /// Its failures are forgotten.
    FailuresReset,
}

/// Applies a change to a source, and says what it did.
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
            // The last word counts: a poll that was asked for before would be made in the middle of the rest.
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

/// A new URL or type has nothing to do with the old one's answers: an old validator would get 304 for ever (s608).
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

/// Gives a source the URL that its publisher moved it to (`rules::moved`). It is the same feed in another place, so all
/// that was learned about it stays, but for its validators: they belong to a URL (p07).
pub fn relocate(source: &mut Source, url: String) {
    source.settings.url = with_login_of(&source.settings.url, &url).unwrap_or(url);
    source.state.validators = Validators::default();
    source.state.moved = None;
}

/// The new URL with the old one's login, if both are of one origin. Other origins were never told the login (p23), and
/// answered all the same.
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
