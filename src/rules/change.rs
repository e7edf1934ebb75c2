//! What a person's word does to a source. Every door (API, command line, import) goes through here. And what a
//! publisher's does who moved it.

use std::fmt;

use url::Url;

use crate::model::{FailureState, Rest, RestCause, Source, SourceSettings, SourceState, Timestamp, Validators};

/// What a person wants of a source.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// New settings; another URL or type makes it another source, so to speak.
    Settings(SourceSettings),
    /// Poll it again, from a clean slate.
    Enable,
    /// Never poll it until enabled.
    Disable(Option<String>),
    /// Leave it alone until woken (`feed-disable`).
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
        Change::Settings(settings) => apply_settings(source, settings, now),
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
            source.state.rest = Some(Rest { since: now, cause: RestCause::Person(reason) });
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
            source.state.rest = source.state.rest.take().filter(|rest| matches!(rest.cause, RestCause::Person(_)));
            Changed::FailuresReset
        }
    }
}

/// A new URL or type has nothing to do with the old one's answers: an old validator would get 304 for ever (s608).
fn apply_settings(source: &mut Source, settings: SourceSettings, now: Timestamp) -> Changed {
    if source.settings == settings {
        return Changed::Nothing;
    }
    let elsewhere = source.settings.url != settings.url || source.settings.source_type != settings.source_type;
    source.settings = settings;
    if !elsewhere {
        return Changed::Settings;
    }
    let by_person = source.state.rest.take().filter(|rest| matches!(rest.cause, RestCause::Person(_)));
    source.state = SourceState {
        enabled: source.state.enabled,
        disabled_reason: source.state.disabled_reason.take(),
        first_polled_at: source.state.first_polled_at,
        last_polled: source.state.last_polled,
        poll_requested_at: Some(now),
        rest: by_person,
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
            Changed::Resting => "resting until woken",
            Changed::Awake => "awake, with a clean slate",
            Changed::PollRequested => "polled as soon as its publisher and its host allow",
            Changed::FailuresReset => "failures forgotten",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Policy, due, hours};
    use super::*;
    use crate::model::{
        FailureClass, FailureKind, FailureRun, Hints, LastFailure, LastSeen, Moved, NewSource, SourceId, SourceType,
    };

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    /// A source with everything there is to forget.
    fn troubled() -> Source {
        let settings = SourceSettings::new(SourceType::Rss, "http://a.example/feed");
        let mut source = Source::fresh(SourceId(1), NewSource { settings, created_at: Timestamp::EPOCH });
        source.state = SourceState {
            enabled: false,
            disabled_reason: Some("Auto-disabled after 5 consecutive 404 errors".into()),
            first_polled_at: Some(NOW - hours(90)),
            last_polled: Some(NOW - hours(1)),
            poll_requested_at: None,
            last_success_at: Some(NOW - hours(80)),
            last_read_at: Some(NOW - hours(80)),
            last_seen: Some(LastSeen::Published(NOW - hours(81))),
            validators: Validators { etag: Some("\"a\"".into()), last_modified: Some("Mon".into()) },
            hints: Hints { fresh_until: Some(NOW + hours(9)), skip_hours: 1, ..Hints::default() },
            failures: FailureState {
                consecutive: 5,
                consecutive_permanent: 5,
                run: Some(FailureRun { kind: FailureKind::NotFound, length: 5 }),
                last: Some(LastFailure {
                    class: FailureClass::Permanent,
                    kind: FailureKind::NotFound,
                    error: "HTTP 404".into(),
                }),
            },
            rest: Some(Rest { since: NOW, cause: RestCause::Failures(FailureKind::NotFound) }),
            account_id: Some("2244994945".into()),
            moved: Some(Moved { to: "http://new.example/feed".into(), days: 2, last_at: NOW }),
        };
        source
    }

    #[test]
    fn s406_enabling_clears_the_slate_and_makes_it_due_at_once() {
        let mut source = troubled();
        assert_eq!(apply(&mut source, Change::Enable, NOW), Changed::Enabled);
        assert_eq!(source.state.failures, FailureState::default());
        assert_eq!((source.state.enabled, &source.state.disabled_reason, &source.state.rest), (true, &None, &None));
        assert!(due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
        assert_eq!(source.state.last_polled, Some(NOW - hours(1)), "what happened stays on record");
    }

    #[test]
    fn s406_enabling_what_is_enabled_changes_nothing() {
        let mut source = troubled();
        source.state.enabled = true;
        let before = source.clone();
        assert_eq!(apply(&mut source, Change::Enable, NOW), Changed::Nothing);
        assert_eq!(source, before);
    }

    #[test]
    fn s417_a_person_puts_it_to_rest_and_wakes_it() {
        let mut source = troubled();
        source.state.enabled = true;
        assert_eq!(apply(&mut source, Change::Rest("moving".into()), NOW), Changed::Resting);
        assert_eq!(due::next_poll(&source, None, &Policy::default(), NOW).at(), None);
        assert_eq!(apply(&mut source, Change::Wake, NOW), Changed::Awake);
        assert_eq!((&source.state.rest, &source.state.failures), (&None, &FailureState::default()));
    }

    #[test]
    fn s608_another_url_or_type_starts_afresh() {
        let elsewhere = SourceSettings::new(SourceType::Rss, "http://b.example/feed");
        let otherwise = SourceSettings::new(SourceType::Website, "http://a.example/feed");
        for settings in [elsewhere, otherwise] {
            let mut source = troubled();
            source.state.enabled = true;
            assert_eq!(apply(&mut source, Change::Settings(settings), NOW), Changed::StartedAfresh);
            assert_eq!(source.state.validators, Validators::default());
            assert_eq!((source.state.last_seen, &source.state.hints), (None, &Hints::default()));
            assert_eq!(source.state.account_id, None);
            assert_eq!((&source.state.failures, &source.state.rest), (&FailureState::default(), &None));
            assert!(due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
        }
    }

    #[test]
    fn s608_another_url_does_not_undo_what_a_person_decided() {
        let mut source = troubled();
        source.state.rest = Some(Rest { since: NOW, cause: RestCause::Person("moving".into()) });
        apply(&mut source, Change::Settings(SourceSettings::new(SourceType::Rss, "http://b.example/feed")), NOW);
        assert!(!source.state.enabled && source.state.rest.is_some());
    }

    #[test]
    fn p07_other_settings_keep_the_validators() {
        let mut source = troubled();
        let settings = SourceSettings { title: Some("A".into()), ..source.settings.clone() };
        let before = source.state.clone();
        assert_eq!(apply(&mut source, Change::Settings(settings.clone()), NOW), Changed::Settings);
        assert_eq!(source.state, before);
        assert_eq!(apply(&mut source, Change::Settings(settings), NOW), Changed::Nothing);
    }

    #[test]
    fn p22_a_move_changes_the_url_and_drops_the_validators_and_nothing_else() {
        let before = troubled();
        let mut source = before.clone();
        relocate(&mut source, "https://b.example/feed".into());
        let mut expected = before;
        expected.settings.url = "https://b.example/feed".into();
        expected.state.validators = Validators::default();
        expected.state.moved = None;
        assert_eq!(source, expected);
    }

    #[test]
    fn p23_a_login_in_the_url_moves_within_its_origin_and_not_beyond() {
        for (old, new, expected) in [
            ("https://ada:p%40w@a.example/old", "https://a.example/new", "https://ada:p%40w@a.example/new"),
            ("https://ada:pw@a.example/old", "https://b.example/new", "https://b.example/new"),
            ("http://ada:pw@a.example/old", "https://a.example/new", "https://a.example/new"),
            ("https://ada:pw@a.example/old", "https://eve:x@a.example/new", "https://eve:x@a.example/new"),
            ("https://a.example/old", "https://a.example/new", "https://a.example/new"),
            ("no url", "https://a.example/new", "https://a.example/new"),
        ] {
            let mut source = troubled();
            source.settings.url = old.into();
            relocate(&mut source, new.into());
            assert_eq!(source.settings.url, expected, "{old}");
        }
    }

    #[test]
    fn a_person_disables_with_and_without_a_reason() {
        let mut source = troubled();
        source.state.enabled = true;
        apply(&mut source, Change::Disable(Some("spam".into())), NOW);
        assert_eq!((source.state.enabled, source.state.disabled_reason.as_deref()), (false, Some("spam")));
        apply(&mut source, Change::Disable(None), NOW);
        assert_eq!(source.state.disabled_reason, None);
    }

    #[test]
    fn a_poll_that_was_asked_for_is_due_at_once() {
        let mut source = troubled();
        source.state.enabled = true;
        assert_eq!(apply(&mut source, Change::Poll, NOW), Changed::PollRequested);
        assert!(due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
    }

    #[test]
    fn p20_force_sets_aside_what_the_publisher_said() {
        let mut source = troubled();
        source.state.enabled = true;
        source.state.hints.retry_after = Some(NOW + hours(5));
        apply(&mut source, Change::Poll, NOW);
        assert!(!due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
        assert_eq!(apply(&mut source, Change::PollForced, NOW), Changed::PollRequested);
        assert!(due::next_poll(&source, None, &Policy::default(), NOW).is_due(NOW));
    }

    #[test]
    fn forgetting_failures_ends_the_rest_that_followed_from_them_and_no_other() {
        let mut source = troubled();
        assert_eq!(apply(&mut source, Change::ResetFailures, NOW), Changed::FailuresReset);
        assert_eq!((&source.state.failures, &source.state.rest), (&FailureState::default(), &None));
        assert!(!source.state.enabled, "only enabling enables");
        source.state.rest = Some(Rest { since: NOW, cause: RestCause::Person("moving".into()) });
        apply(&mut source, Change::ResetFailures, NOW);
        assert!(source.state.rest.is_some());
    }
}
