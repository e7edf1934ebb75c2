//! Events that follow from a change of a source or a host.

use crate::model::{EventType, HostState, NewEvent, RestCause, Source, Timestamp};

use super::Policy;
use super::shown_url::shown_url;

/// An event about a source.
pub fn of_source(source: &Source, event_type: EventType, at: Timestamp) -> NewEvent {
    let url = Some(shown_url(&source.settings.url));
    NewEvent { source_id: Some(source.id), url, ..NewEvent::new(event_type, at) }
}

/// What happened to a source between these two states of it.
pub fn source_events(before: &Source, after: &Source, policy: &Policy, now: Timestamp) -> Vec<NewEvent> {
    let (old, new) = (&before.state, &after.state);
    let event = |event_type| of_source(after, event_type, now);
    if old.enabled && !new.enabled {
        return vec![NewEvent { reason: new.disabled_reason.clone(), ..event(EventType::SourceDisabled) }];
    }
    let was_inactive = !old.enabled || old.rest.is_some();
    match &new.rest {
        // A rest that begins anew, since the next poll failed as well, is another one.
        Some(rest) if new.enabled && old.rest.as_ref() != Some(rest) => {
            let (reason, until) = match &rest.cause {
                RestCause::Failures(kind) | RestCause::Reported(kind) => {
                    let cooldown = policy.rests.for_kind(*kind).map(|rule| rest.since + rule.cooldown);
                    let error = new.failures.last.as_ref().map(|last| format!(": {}", last.error));
                    (format!("{kind}{}", error.unwrap_or_default()), cooldown)
                }
                RestCause::Person(reason) => (reason.clone(), None),
            };
            vec![NewEvent { reason: Some(reason), until, ..event(EventType::SourceResting) }]
        }
        None if new.enabled && was_inactive => {
            let by = if new.last_success_at > old.last_success_at { "a poll succeeded" } else { "by an operator" };
            vec![NewEvent { reason: Some(by.to_owned()), ..event(EventType::SourceRecovered) }]
        }
        _ => Vec::new(),
    }
}

/// The event of a hold that begins: one that only becomes longer has none.
pub fn host_held(before: Option<&HostState>, after: &HostState, now: Timestamp) -> Option<NewEvent> {
    let was_held = before.and_then(|host| host.held_until).is_some_and(|until| until > now);
    let until = after.held_until.filter(|until| *until > now && !was_held)?;
    Some(NewEvent {
        host: Some(after.host.to_string()),
        reason: after.held_reason.clone(),
        until: Some(until),
        ..NewEvent::new(EventType::HostHeld, now)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FailureKind, HostKey, NewSource, Rest, SourceId, SourceSettings, SourceType};

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn source(change: impl FnOnce(&mut Source)) -> Source {
        let settings = SourceSettings::new(SourceType::Rss, "http://ann:word@a.example/feed?token=secret");
        let mut source = Source::fresh(SourceId(7), NewSource { settings, created_at: NOW });
        change(&mut source);
        source
    }

    fn rest(seconds: i64, cause: RestCause) -> Option<Rest> {
        Some(Rest { since: Timestamp::from_seconds(seconds), cause })
    }

    fn check(before: &Source, after: &Source, expected: &[(EventType, &str)]) {
        let found = source_events(before, after, &Policy::default(), NOW);
        let found: Vec<_> =
            found.iter().map(|event| (event.event_type, event.reason.as_deref().unwrap_or_default())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_change_has_one_event_and_what_stays_has_none() {
        let active = source(|_| {});
        let resting = source(|one| one.state.rest = rest(1, RestCause::Failures(FailureKind::NotFound)));
        let again = source(|one| one.state.rest = rest(2, RestCause::Failures(FailureKind::NotFound)));
        let told = source(|one| one.state.rest = rest(1, RestCause::Person("moving house".into())));
        let disabled = source(|one| {
            one.state.enabled = false;
            one.state.disabled_reason = Some("HTTP 410".into());
        });
        let polled = source(|one| one.state.last_success_at = Some(NOW));
        let resting_event = [(EventType::SourceResting, "not_found")];
        check(&active, &active, &[]);
        check(&active, &polled, &[]);
        check(&active, &resting, &resting_event);
        check(&resting, &resting, &[]);
        check(&resting, &again, &resting_event);
        check(&active, &told, &[(EventType::SourceResting, "moving house")]);
        check(&active, &disabled, &[(EventType::SourceDisabled, "HTTP 410")]);
        check(&resting, &disabled, &[(EventType::SourceDisabled, "HTTP 410")]);
        check(&disabled, &disabled, &[]);
        check(&resting, &polled, &[(EventType::SourceRecovered, "a poll succeeded")]);
        check(&disabled, &active, &[(EventType::SourceRecovered, "by an operator")]);
    }

    #[test]
    fn an_event_shows_no_credentials() {
        let disabled = source(|one| one.state.enabled = false);
        let events = source_events(&source(|_| {}), &disabled, &Policy::default(), NOW);
        assert_eq!(events[0].url.as_deref(), Some("http://a.example/feed?token=********"));
    }

    #[test]
    fn a_hold_has_an_event_when_it_begins() {
        let host = |until: Option<i64>| {
            let mut host = HostState::new(HostKey::from_canonical("a.example"));
            host.held_until = until.map(Timestamp::from_seconds);
            host
        };
        let now = 1_800_000_000;
        let is_event =
            |before: Option<HostState>, after: i64| host_held(before.as_ref(), &host(Some(after)), NOW).is_some();
        assert!(is_event(None, now + 60));
        assert!(is_event(Some(host(None)), now + 60));
        assert!(is_event(Some(host(Some(now - 1))), now + 60));
        assert!(!is_event(Some(host(Some(now + 30))), now + 60), "it only becomes longer");
        assert!(!is_event(None, now - 1));
    }
}
