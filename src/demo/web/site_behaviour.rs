//! How the sites of the simulated web behave.

use crate::model::SourceType;

/// How a site behaves. Everything that publishes shows its newest entries, as many as fit its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum SiteBehaviour {
    /// A feed with validators (`ETag`, `Last-Modified` or both) that answers 304 when nothing is new.
    Healthy,
    /// A feed without validators: always a 200, often with the same body.
    #[strum(serialize = "no validators")]
    NoValidators,
    /// A feed that has one more entry at every request, whatever [`Publishing`](super::Publishing) says.
    Busy,
    /// A healthy feed whose entries have no titles.
    Titleless,
    /// A healthy feed that is always sent with gzip.
    Gzip,
    /// A healthy feed that says for how many seconds an answer stays fresh (`Cache-Control: max-age`).
    #[strum(serialize = "cached")]
    CacheFor(u32),
    /// 404.
    #[strum(serialize = "not found")]
    NotFound,
    /// 410.
    Gone,
    /// 403.
    Forbidden,
    /// 401 with a challenge.
    Unauthorized,
    /// 429.
    #[strum(serialize = "rate limited")]
    RateLimited(RetryAfter),
    /// 503.
    Unavailable(RetryAfter),
    /// This status, with some words of HTML: 500 or 502.
    Broken(u16),
    /// A healthy feed whose answers begin only after [`WebSettings::slow`](super::WebSettings::slow).
    Slow,
    /// A healthy feed whose body comes in drops, with [`WebSettings::drip`](super::WebSettings::drip) between them.
    Dripping,
    /// Takes the request and never answers; the connection stays open until the client hangs up.
    Hanging,
    /// A 200 that ends in the middle of the length it announced.
    Cut,
    /// Takes the request and resets the connection.
    Reset,
    /// A 200 with XML of which nothing can be made.
    #[strum(serialize = "broken XML")]
    BrokenXml,
    /// A 200 with a web page where a feed should be.
    #[strum(serialize = "not a feed")]
    NotAFeed,
    /// A 200 whose body goes on for [`WebSettings::huge_bytes`](super::WebSettings::huge_bytes).
    Huge,
    /// 301 to where a healthy feed is.
    Moved(Elsewhere),
    /// 302 to where a healthy feed is.
    Found(Elsewhere),
    /// 302 in a circle.
    Loop,
    /// A web page with one article, which is another one after each publication. [`RobotsPolicy`] of its host apply.
    Website,
    /// A feed that mixes, by the seed: healthy answers (six in ten), 404, 500 and resets.
    Flaky,
    /// Nothing listens: connections are refused. Such a site has an address of its own. A site that becomes dead
    /// later on an address that it shares with living ones resets instead.
    Dead,
}

/// How a refusal says when to come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryAfter {
    Unsaid,
    /// In this many seconds.
    Seconds(u32),
    /// At the moment that is this many seconds away, as a date.
    Date(u32),
}

/// Where a redirect leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Elsewhere {
    /// To another path of the same host.
    SameHost,
    /// To another host of the simulated web; to the same one if there is no other.
    OtherHost,
}

/// What a host says in its robots.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RobotsPolicy {
    /// Everything that there is may be asked for.
    Allowing,
    /// The pages of the host's [`SiteBehaviour::Website`]s may not be asked for.
    Forbidding,
    /// 404, which allows everything.
    Missing,
    /// 500, which forbids everything.
    Broken,
}

impl SiteBehaviour {
    /// One of each, with every variation.
    pub const EVERY: [SiteBehaviour; 33] = [
        SiteBehaviour::Healthy,
        SiteBehaviour::NoValidators,
        SiteBehaviour::Busy,
        SiteBehaviour::Titleless,
        SiteBehaviour::Gzip,
        SiteBehaviour::CacheFor(60),
        SiteBehaviour::NotFound,
        SiteBehaviour::Gone,
        SiteBehaviour::Forbidden,
        SiteBehaviour::Unauthorized,
        SiteBehaviour::RateLimited(RetryAfter::Unsaid),
        SiteBehaviour::RateLimited(RetryAfter::Seconds(120)),
        SiteBehaviour::RateLimited(RetryAfter::Date(120)),
        SiteBehaviour::Unavailable(RetryAfter::Unsaid),
        SiteBehaviour::Unavailable(RetryAfter::Seconds(120)),
        SiteBehaviour::Broken(500),
        SiteBehaviour::Broken(502),
        SiteBehaviour::Slow,
        SiteBehaviour::Dripping,
        SiteBehaviour::Hanging,
        SiteBehaviour::Cut,
        SiteBehaviour::Reset,
        SiteBehaviour::BrokenXml,
        SiteBehaviour::NotAFeed,
        SiteBehaviour::Huge,
        SiteBehaviour::Moved(Elsewhere::SameHost),
        SiteBehaviour::Moved(Elsewhere::OtherHost),
        SiteBehaviour::Found(Elsewhere::SameHost),
        SiteBehaviour::Found(Elsewhere::OtherHost),
        SiteBehaviour::Loop,
        SiteBehaviour::Website,
        SiteBehaviour::Flaky,
        SiteBehaviour::Dead,
    ];

    /// How a source at such a site is read.
    pub fn source_type(self) -> SourceType {
        if self == SiteBehaviour::Website { SourceType::Website } else { SourceType::Rss }
    }

    /// Whether entries can be read there, if sometimes only.
    pub fn publishes(self) -> bool {
        match self {
            SiteBehaviour::Healthy
            | SiteBehaviour::NoValidators
            | SiteBehaviour::Busy
            | SiteBehaviour::Titleless
            | SiteBehaviour::Gzip
            | SiteBehaviour::CacheFor(_)
            | SiteBehaviour::Slow
            | SiteBehaviour::Dripping
            | SiteBehaviour::Moved(_)
            | SiteBehaviour::Found(_)
            | SiteBehaviour::Website
            | SiteBehaviour::Flaky => true,
            SiteBehaviour::NotFound
            | SiteBehaviour::Gone
            | SiteBehaviour::Forbidden
            | SiteBehaviour::Unauthorized
            | SiteBehaviour::RateLimited(_)
            | SiteBehaviour::Unavailable(_)
            | SiteBehaviour::Broken(_)
            | SiteBehaviour::Hanging
            | SiteBehaviour::Cut
            | SiteBehaviour::Reset
            | SiteBehaviour::BrokenXml
            | SiteBehaviour::NotAFeed
            | SiteBehaviour::Huge
            | SiteBehaviour::Loop
            | SiteBehaviour::Dead => false,
        }
    }

    /// A short name for people.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
