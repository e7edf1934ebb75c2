//! Sources as users look for them. Each call examines a bounded number of sources, however rare a match is.

use std::collections::{HashMap, HashSet};

use super::{Result, Service, ServiceError};
use crate::model::{FailureKind, HostKey, Source, SourceId, SourceType, Subscription, Timestamp};
use crate::rules::due;
use crate::rules::publishing::rate_of;
use crate::rules::shown_url::shown_url;
use crate::rules::status::{SourceStatus, status};
use crate::store::SourceSelection;

/// How many sources one call examines, unless it may return more. A rare match takes many calls, and no call takes long
/// (docs/performance.md).
const EXAMINED_MAX: usize = 200;

/// Which sources to list. An absent field matches every source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFilter {
    pub state: Option<SourceStatus>,
    pub host: Option<HostKey>,
    pub source_type: Option<SourceType>,
    /// Whether the source is enabled and not resting (s1003).
    pub feed_active: Option<bool>,
    pub label: Option<String>,
    /// Kind of the last failure of a source that fails.
    pub failure: Option<FailureKind>,
    /// Text in the URL or title, case-insensitive.
    pub text: Option<String>,
}

/// A source with what does not stand in its row.
#[derive(Clone, Debug)]
pub struct SourceDetails {
    pub source: Source,
    pub status: SourceStatus,
    pub host: Option<HostKey>,
    pub labels: Vec<String>,
    /// Whether a login or headers of its own are stored.
    pub has_access: bool,
    /// End of the cooldown; none if the source does not rest or only a user ends the rest.
    pub rest_until: Option<Timestamp>,
    /// About how many new entries a day it publishes; none until that is known.
    pub entries_per_day: Option<f64>,
    /// Its subscription at a hub, where a single source is asked for.
    pub subscription: Option<Subscription>,
}

/// A page of sources in the order of their ids.
#[derive(Clone, Debug)]
pub struct FoundSources {
    pub sources: Vec<SourceDetails>,
    /// Where the next page begins, if there is one. A page can be short, or empty, and still have a next one.
    pub next: Option<SourceId>,
}

impl Service {
    /// One source as it is stored.
    pub async fn source(&self, id: SourceId) -> Result<Source> {
        self.store.source(id).await?.ok_or_else(|| ServiceError::not_found("source", id))
    }

    pub async fn source_details(&self, id: SourceId) -> Result<SourceDetails> {
        self.details_of(self.source(id).await?).await
    }

    /// The sources after this one that match the filter.
    pub async fn find_sources(
        &self,
        filter: &SourceFilter,
        after: Option<SourceId>,
        limit: usize,
    ) -> Result<FoundSources> {
        let selection = self.selection(filter);
        let text = filter.text.as_ref().map(|text| text.to_lowercase());
        let (mut sources, mut next, mut examined) = (Vec::new(), after, 0);
        let examined_max = EXAMINED_MAX.max(limit);
        while examined < examined_max && sources.len() < limit {
            // Often all of the first ones match.
            let chunk = if examined == 0 { limit } else { examined_max - examined };
            let chunk = u32::try_from(chunk).unwrap_or(u32::MAX);
            let page = self.store.select_sources(selection.clone(), next, chunk).await?;
            if page.is_empty() {
                next = None;
                break;
            }
            for source in page {
                examined += 1;
                next = Some(source.id);
                if self.matches(filter, text.as_deref(), &source) {
                    sources.push(source);
                    if sources.len() == limit {
                        break;
                    }
                }
            }
        }
        Ok(FoundSources { sources: self.details(sources).await?, next })
    }

    /// The labels after this one in alphabetical order, each with its number of sources.
    pub async fn labels(&self, after: Option<&str>, limit: u32) -> Result<Vec<(String, u64)>> {
        Ok(self.store.list_labels(after, limit).await?)
    }

    /// A page of all sources, or of those with a label, each with its labels.
    pub async fn labelled_sources(
        &self,
        label: Option<&str>,
        after: Option<SourceId>,
        limit: u32,
    ) -> Result<Vec<(Source, Vec<String>)>> {
        let all = || SourceSelection::All;
        let selection = label.map_or_else(all, |label| SourceSelection::WithLabel(label.to_owned()));
        let sources = self.store.select_sources(selection, after, limit).await?;
        let mut labels = self.labels_by_source(sources.iter().map(|source| source.id).collect()).await?;
        let with_labels = |source: Source| {
            let own = labels.remove(&source.id).unwrap_or_default();
            (source, own)
        };
        Ok(sources.into_iter().map(with_labels).collect())
    }

    pub(super) async fn details_of(&self, source: Source) -> Result<SourceDetails> {
        let id = source.id;
        let details = self.details(vec![source]).await?.pop();
        let mut details = details.ok_or_else(|| ServiceError::not_found("source", id))?;
        details.subscription = self.subscription_of(id).await?;
        Ok(details)
    }

    /// Each source with its labels, host and status; two queries for all of them together.
    pub async fn details(&self, sources: Vec<Source>) -> Result<Vec<SourceDetails>> {
        let ids: Vec<SourceId> = sources.iter().map(|source| source.id).collect();
        let mut labels = self.labels_by_source(ids.clone()).await?;
        let with_access: HashSet<SourceId> = self.store.sources_with_access(ids).await?.into_iter().collect();
        let (now, policy) = (self.now(), self.pipeline.policy());
        let details = |source: Source| SourceDetails {
            status: status(&source, &policy, now),
            host: self.pipeline.host_of(&source.settings),
            labels: labels.remove(&source.id).unwrap_or_default(),
            has_access: with_access.contains(&source.id),
            rest_until: source.state.rest.as_ref().and_then(|rest| due::rest_until(rest, &policy, now)),
            entries_per_day: rate_of(&source).map(|rate| (rate.per_day() * 1e4).round() / 1e4),
            subscription: None,
            source,
        };
        Ok(sources.into_iter().map(details).collect())
    }

    pub(super) async fn labels_by_source(&self, ids: Vec<SourceId>) -> Result<HashMap<SourceId, Vec<String>>> {
        let mut labels: HashMap<SourceId, Vec<String>> = HashMap::new();
        for (id, label) in self.store.labels_of(ids).await? {
            labels.entry(id).or_default().push(label);
        }
        Ok(labels)
    }

    /// The narrowest list of the store that holds every match.
    pub(super) fn selection(&self, filter: &SourceFilter) -> SourceSelection {
        match filter {
            SourceFilter { label: Some(label), .. } => SourceSelection::WithLabel(label.clone()),
            SourceFilter { host: Some(host), .. } => self.at_host(host),
            SourceFilter { state: Some(SourceStatus::Disabled), .. } => SourceSelection::Disabled,
            SourceFilter { state: Some(SourceStatus::Resting), .. } => SourceSelection::Resting,
            SourceFilter { state: Some(SourceStatus::BackingOff), .. } => SourceSelection::Failing,
            SourceFilter { failure: Some(_), .. } => SourceSelection::Failing,
            SourceFilter { feed_active: Some(false), .. } => SourceSelection::Inactive,
            SourceFilter { source_type: Some(source_type), .. } if *source_type != SourceType::COMMON => {
                SourceSelection::OfType(*source_type)
            }
            _ => SourceSelection::All,
        }
    }

    pub(super) fn matches(&self, filter: &SourceFilter, text: Option<&str>, source: &Source) -> bool {
        let SourceFilter { state, host, source_type, feed_active, failure, .. } = filter;
        let (settings, failures) = (&source.settings, &source.state.failures);
        let failed_by = failures.last.as_ref().filter(|_| failures.consecutive > 0).map(|last| last.kind);
        let status = status(source, &self.pipeline.policy(), self.now());
        // The password in a URL is not searched: a match would give it away.
        let holds = |text: &str| {
            let shown = shown_url(&settings.url).to_lowercase();
            let titles = [&settings.title, &source.state.feed_title];
            shown.contains(text) || titles.into_iter().flatten().any(|title| title.to_lowercase().contains(text))
        };
        state.is_none_or(|state| state == status)
            && source_type.is_none_or(|source_type| source_type == settings.source_type)
            && feed_active.is_none_or(|wanted| wanted == status.is_feed_active())
            && host.as_ref().is_none_or(|host| self.pipeline.host_of(settings).as_ref() == Some(host))
            && failure.is_none_or(|kind| failed_by == Some(kind))
            && text.is_none_or(holds)
    }
}
