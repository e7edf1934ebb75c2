//! Pause between two requests to one host.

use std::fmt;
use std::time::Duration;

use crate::model::{HostKey, SourceSettings};

use super::Delays;

/// Pause between two requests, and the layer of settings that decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Length of the pause.
    pub pause: Duration,
    /// Layer that decides it.
    pub layer: DelayLayer,
}

/// Layers of settings for the pause, the most specific first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayLayer {
    /// The source's own setting.
    Source,
    /// The configuration, for this host.
    Host,
    /// The configuration, for this type of source.
    Type,
    Nothing,
}

/// The pause before a request for a source, counted from the end of the previous request to its host.
///
/// A source without a host shares no server, so it has no pause (s506).
pub fn delay(settings: &SourceSettings, host: Option<&HostKey>, delays: &Delays) -> Delay {
    let Some(host) = host else {
        return Delay { pause: Duration::ZERO, layer: DelayLayer::Nothing };
    };
    if let Some(seconds) = settings.poll_delay_seconds {
        return Delay { pause: Duration::from_secs(seconds.into()), layer: DelayLayer::Source };
    }
    if let Some(pause) = delays.by_host.get(host.as_str()) {
        return Delay { pause: *pause, layer: DelayLayer::Host };
    }
    match delays.by_type.get(&settings.source_type) {
        Some(pause) => Delay { pause: *pause, layer: DelayLayer::Type },
        None => Delay { pause: Duration::ZERO, layer: DelayLayer::Nothing },
    }
}

impl fmt::Display for DelayLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            DelayLayer::Source => "the source's own poll_delay_seconds",
            DelayLayer::Host => "source.host-overrides for its host",
            DelayLayer::Type => "source.poll-delay-seconds for its type",
            DelayLayer::Nothing => "no delay is set",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SourceType;

    fn check(
        own_seconds: Option<u32>,
        host: Option<&str>,
        by_host: bool,
        by_type: bool,
        seconds: u64,
        layer: DelayLayer,
    ) {
        let mut settings = SourceSettings::new(SourceType::Rss, "");
        settings.poll_delay_seconds = own_seconds;
        let mut delays = Delays::default();
        if by_host {
            delays.by_host.insert("nitter.net".into(), Duration::from_secs(3));
        }
        if by_type {
            delays.by_type.insert(SourceType::Rss, Duration::from_secs(2));
        }
        let host = host.map(HostKey::from_canonical);
        let expected = Delay { pause: Duration::from_secs(seconds), layer };
        assert_eq!(delay(&settings, host.as_ref(), &delays), expected);
    }

    #[test]
    fn s505_the_most_particular_layer_decides() {
        check(Some(9), Some("nitter.net"), true, true, 9, DelayLayer::Source);
        check(Some(0), Some("nitter.net"), true, true, 0, DelayLayer::Source);
        check(None, Some("nitter.net"), true, true, 3, DelayLayer::Host);
        check(None, Some("other.example"), true, true, 2, DelayLayer::Type);
        check(None, Some("nitter.net"), false, true, 2, DelayLayer::Type);
        check(None, Some("nitter.net"), false, false, 0, DelayLayer::Nothing);
    }

    #[test]
    fn s506_a_source_without_a_host_has_no_pause() {
        check(Some(9), None, true, true, 0, DelayLayer::Nothing);
    }
}
