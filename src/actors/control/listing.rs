//! Lists of sources by what people ask for. Each call looks at a bounded number of sources, however rare a match is.

use super::{ControlError, PipelineHandle, SourceStatus};
use crate::model::{HostKey, Source, SourceId, SourceType, Timestamp};
use crate::rules::due;
use crate::rules::status::status;
use crate::store::SourceSelection;

/// How many sources one call looks at, or as many as it may return: whoever wants more goes on from where it stopped. A
/// rare match costs many calls and no call takes long (docs/performance.md).
const LOOKED_MAX: usize = 200;

/// Which sources are wanted; what is not said does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFilter {
    /// Where they stand.
    pub state: Option<SourceStatus>,
    /// At this host.
    pub host: Option<HostKey>,
    /// Of this type.
    pub source_type: Option<SourceType>,
    /// Whether they are enabled and not resting (s1003).
    pub feed_active: Option<bool>,
    /// With this label.
    pub label: Option<String>,
    /// With this text in the URL or title, whatever the case.
    pub text: Option<String>,
}

/// A page of sources.
#[derive(Clone, Debug)]
pub struct FoundSources {
    /// The sources, each with where it stands, in the order of their numbers.
    pub sources: Vec<(Source, SourceStatus)>,
    /// Go on after this one; nothing if there are no more. A page can be short, or empty, and still have a next one.
    pub next: Option<SourceId>,
}

impl PipelineHandle {
    /// The sources that follow this one and are wanted.
    pub async fn find_sources(
        &self,
        filter: &SourceFilter,
        after: Option<SourceId>,
        limit: usize,
    ) -> Result<FoundSources, ControlError> {
        let selection = self.selection(filter);
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let (now, policy) = (self.context.clock.now(), self.context.policy());
        let (mut sources, mut next, mut looked) = (Vec::new(), after, 0);
        let looked_max = LOOKED_MAX.max(limit);
        while looked < looked_max {
            // Often all of the first ones are wanted.
            let chunk = if looked == 0 { limit } else { looked_max - looked };
            let chunk = u32::try_from(chunk).unwrap_or(u32::MAX);
            let page = self.context.store.select_sources(selection.clone(), next, chunk).await?;
            if page.is_empty() {
                return Ok(FoundSources { sources, next: None });
            }
            for source in page {
                looked += 1;
                next = Some(source.id);
                let standing = status(&source, &policy, now);
                if self.is_wanted(filter, text.as_deref(), &source, standing) {
                    sources.push((source, standing));
                    if sources.len() == limit {
                        return Ok(FoundSources { sources, next });
                    }
                }
            }
        }
        Ok(FoundSources { sources, next })
    }

    /// Where the source stands now.
    pub fn status(&self, source: &Source) -> SourceStatus {
        status(source, &self.context.policy(), self.context.clock.now())
    }

    /// When the source's cooldown ends; none if it has no rest or only a person ends it.
    pub fn rest_until(&self, source: &Source) -> Option<Timestamp> {
        due::rest_until(source.state.rest.as_ref()?, &self.context.policy(), self.context.clock.now())
    }

    /// The narrowest list that holds all that are wanted.
    fn selection(&self, filter: &SourceFilter) -> SourceSelection {
        match filter {
            SourceFilter { label: Some(label), .. } => SourceSelection::WithLabel(label.clone()),
            SourceFilter { host: Some(host), .. } => self.at_host(host),
            SourceFilter { state: Some(SourceStatus::Disabled), .. } => SourceSelection::Disabled,
            SourceFilter { state: Some(SourceStatus::Resting), .. } => SourceSelection::Resting,
            SourceFilter { state: Some(SourceStatus::BackingOff), .. } => SourceSelection::Failing,
            SourceFilter { feed_active: Some(false), .. } => SourceSelection::Inactive,
            SourceFilter { source_type: Some(source_type), .. } if *source_type != SourceType::COMMON => {
                SourceSelection::OfType(*source_type)
            }
            _ => SourceSelection::All,
        }
    }

    fn is_wanted(&self, filter: &SourceFilter, text: Option<&str>, source: &Source, standing: SourceStatus) -> bool {
        let SourceFilter { state, host, source_type, feed_active, .. } = filter;
        let settings = &source.settings;
        // The part of a URL that may be a password is not looked at: a match would give it away.
        let holds = |text: &str| {
            let shown = super::shown_url(&settings.url).to_lowercase();
            shown.contains(text) || settings.title.as_ref().is_some_and(|title| title.to_lowercase().contains(text))
        };
        state.is_none_or(|state| state == standing)
            && source_type.is_none_or(|source_type| source_type == settings.source_type)
            && feed_active.is_none_or(|wanted| wanted == standing.is_feed_active())
            && host.as_ref().is_none_or(|host| self.host_of(source).as_ref() == Some(host))
            && text.is_none_or(holds)
    }
}
