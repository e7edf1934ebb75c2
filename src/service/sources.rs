//! Adding, changing and removing sources. A change is written on the version that it was decided on, so that no update
//! is lost.

use super::audit::{of_source, settings_fields, source_change};
use super::canonical::canonicalize;
use super::polls::FirstPollWatch;
use super::{LabelPatch, NewSourceRequest, RequestedPoll, Result, Service, ServiceError, SourceDetails, SourcePatch};
use crate::actors::Trial;
use crate::model::{
    AuditFields, AuditedChange, NewSource, PollOutcome, Source, SourceAccess, SourceId, SourceSettings, Timestamp,
};
use crate::rules::change::{Change, Changed, apply};
use crate::rules::events::source_events;
use crate::rules::shown_url::shown_url;
use crate::sources::owner_key;
use crate::store::{Added, Saved, Store, StoreError};

/// How often a change that names no version is decided again because the source was changed meanwhile.
pub(super) const ROUNDS_MAX: usize = 20;
const REASON_CHARS_MAX: usize = 500;

/// What adding a source does about its first poll, which the scheduler makes by itself: no request is made twice (p08).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPoll {
    NotAwaited,
    Awaited,
    /// The source is removed again if its first poll fails.
    MustSucceed,
}

/// Which audit record a change gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recording {
    Each,
    ByCaller,
}

struct NewLabels {
    old: Vec<String>,
    new: Vec<String>,
}

/// What an import did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportedList {
    pub added: usize,
    pub duplicates: usize,
    pub rejected: usize,
    /// False if the list was cut off or could not be read to its end.
    pub is_complete: bool,
    /// The first URLs that were added, as they are shown.
    pub first_urls: Vec<String>,
}

/// A source that was added.
#[derive(Clone, Debug)]
pub struct AddedSource {
    pub source: SourceDetails,
    pub first_poll: Option<RequestedPoll>,
    /// What the source needs to be read and does not have, such as an X key, and how to give it.
    pub lacks: Option<String>,
}

impl Service {
    pub async fn add_source(&self, request: NewSourceRequest, first_poll: FirstPoll) -> Result<AddedSource> {
        let (settings, labels) = request.validate()?;
        let access = request.access;
        if let Some(access) = &access {
            super::access::check(access, settings.source_type).map_err(|error| error.within("access."))?;
        }
        self.check_podcast(settings.podcast_id).await?;
        let lacks = self.missing_key(&settings).await?;
        if let (Some(lacks), FirstPoll::MustSucceed) = (&lacks, first_poll) {
            return Err(ServiceError::DoesNotWork { field: "podcast_id", detail: lacks.clone(), poll: None });
        }
        let watch = match first_poll {
            FirstPoll::NotAwaited => None,
            FirstPoll::Awaited | FirstPoll::MustSucceed => Some(self.watch_first_poll(&settings).await?),
        };
        // On trial until it is decided whether the source stays.
        let (id, _trial) = self.insert(settings, labels, access, first_poll).await?;
        let is_on_trial = first_poll == FirstPoll::MustSucceed;
        let first_poll = match watch {
            Some(watch) => Some(self.await_first_poll(id, watch, first_poll).await?),
            None => None,
        };
        let added = AddedSource { source: self.source_details(id).await?, first_poll, lacks };
        if is_on_trial {
            let SourceDetails { source, labels, .. } = &added.source;
            self.note_change(addition(&source.settings, labels).of(id)).await;
        }
        Ok(added)
    }

    async fn insert(
        &self,
        settings: SourceSettings,
        labels: Vec<String>,
        access: Option<SourceAccess>,
        first_poll: FirstPoll,
    ) -> Result<(SourceId, Option<Trial>)> {
        let now = self.now();
        let settings = canonicalize(self.store.as_ref(), settings).await?;
        let access = access.map(|access| SourceAccess { origin: SourceAccess::origin_of(&settings.url), ..access });
        let change = addition(&settings, &labels);
        let new = NewSource { settings, created_at: now };
        let add = async |store: &dyn Store| match &access {
            None => store.add_sources(vec![new]).await?.pop().ok_or_else(nothing_added),
            Some(access) => store.add_source_with_access(new, access).await,
        };
        let added = match first_poll {
            // It is recorded once it is decided that the source stays.
            FirstPoll::MustSucceed => add(self.store.as_ref()).await?,
            FirstPoll::NotAwaited | FirstPoll::Awaited => self.audited(change, add).await?,
        };
        match added {
            Added::New(id) => {
                if !labels.is_empty() {
                    self.store.add_labels(vec![(id, labels)], now).await?;
                }
                let trial = (first_poll == FirstPoll::MustSucceed).then(|| self.pipeline.begin_trial(id));
                self.pipeline.sources_changed(vec![id]);
                Ok((id, trial))
            }
            Added::Duplicate(id) => Err(ServiceError::Duplicate(id)),
        }
    }

    async fn await_first_poll(
        &self,
        id: SourceId,
        watch: FirstPollWatch,
        first_poll: FirstPoll,
    ) -> Result<RequestedPoll> {
        let answer = self.finish_first_poll(id, watch).await?;
        match &answer {
            RequestedPoll::Done(poll)
                if poll.outcome() == PollOutcome::Failed && first_poll == FirstPoll::MustSucceed =>
            {
                // Neither added nor removed, as far as its user is concerned.
                if self.store.remove_source(id).await? {
                    self.pipeline.sources_changed(vec![id]);
                }
                let detail = poll.error.clone().unwrap_or_default();
                Err(ServiceError::DoesNotWork { field: "url", detail, poll: Some(poll.clone()) })
            }
            _ => Ok(answer),
        }
    }

    /// Adds many sources in one transaction, with one audit record. Each is added, exists already, or is invalid by
    /// itself.
    pub async fn add_many(&self, requests: &[NewSourceRequest]) -> Result<Vec<Result<Added>>> {
        let checked: Vec<Result<_>> = requests.iter().map(NewSourceRequest::validate).collect();
        let valid = checked.iter().filter_map(|checked| checked.as_ref().ok().cloned()).collect();
        let change = AuditedChange::new("source.add-many", "source", None).after("given", requests.len());
        let add = async |store: &dyn Store| add_sources(store, valid, self.now()).await;
        let added = self.audited(change, add).await?;
        self.pipeline.sources_changed(added.iter().filter_map(new_id).collect());
        let mut added = added.into_iter();
        let missing = || ServiceError::Store(StoreError::Internal("the store did not answer for all sources".into()));
        Ok(checked.into_iter().map(|checked| checked.and_then(|_| added.next().ok_or_else(missing))).collect())
    }

    /// Adds the sources of a part of a list, with their labels. A source that exists gets the labels that it lacks.
    /// [`Service::note_import`] records the whole import.
    pub async fn import(&self, new: Vec<(SourceSettings, Vec<String>)>) -> Result<Vec<Added>> {
        let added = add_sources(self.store.as_ref(), new, self.now()).await?;
        self.pipeline.sources_changed(added.iter().filter_map(new_id).collect());
        Ok(added)
    }

    /// Records an import: one record, whatever the length of the list.
    pub async fn note_import(&self, import: ImportedList) {
        self.note_change(import_change(&import)).await;
    }

    /// Changes settings and labels of a source, and perhaps enables or disables it; if a version is named, only if the
    /// source still has it.
    pub async fn patch_source(
        &self,
        id: SourceId,
        expected_version: Option<i64>,
        patch: &SourcePatch,
    ) -> Result<SourceDetails> {
        let labels = patch.labels.validate()?;
        self.check_podcast(patch.podcast_id.flatten()).await?;
        let decide = |source: &Source| {
            let settings = patch.apply(&source.settings)?;
            let needs_owner_key = owner_key(settings.source_type).is_some();
            Ok(Change::Update { settings, enabled: patch.enabled, needs_owner_key })
        };
        let (source, _) = self.change(id, expected_version, Some(&labels), decide).await?;
        self.details_of(source).await
    }

    pub async fn enable_source(&self, id: SourceId, expected_version: Option<i64>) -> Result<SourceDetails> {
        self.apply(id, expected_version, Change::Enable).await
    }

    pub async fn disable_source(
        &self,
        id: SourceId,
        expected_version: Option<i64>,
        reason: Option<String>,
    ) -> Result<SourceDetails> {
        let reason = reason.as_deref().map(valid_reason).transpose()?;
        self.apply(id, expected_version, Change::Disable(reason)).await
    }

    /// Leaves a source alone for the cooldown of the failure kind that the reason names, or until `wake_source`.
    pub async fn rest_source(
        &self,
        id: SourceId,
        expected_version: Option<i64>,
        reason: &str,
    ) -> Result<SourceDetails> {
        self.apply(id, expected_version, Change::Rest(valid_reason(reason)?)).await
    }

    pub async fn wake_source(&self, id: SourceId, expected_version: Option<i64>) -> Result<SourceDetails> {
        self.apply(id, expected_version, Change::Wake).await
    }

    pub async fn reset_source(&self, id: SourceId, expected_version: Option<i64>) -> Result<SourceDetails> {
        self.apply(id, expected_version, Change::ResetFailures).await
    }

    async fn apply(&self, id: SourceId, expected_version: Option<i64>, change: Change) -> Result<SourceDetails> {
        let (source, _) = self.change(id, expected_version, None, |_| Ok(change.clone())).await?;
        self.details_of(source).await
    }

    /// Decides on the current row, writes on its version and notifies the scheduler. If the source was changed
    /// meanwhile, the change is decided again on the new row, unless the caller named a version.
    pub(super) async fn change(
        &self,
        id: SourceId,
        expected_version: Option<i64>,
        labels: Option<&LabelPatch>,
        decide: impl Fn(&Source) -> Result<Change>,
    ) -> Result<(Source, Changed)> {
        self.change_as(id, expected_version, labels, Recording::Each, decide).await
    }

    /// One of many changes, for which the caller makes one audit record.
    pub(super) async fn change_unrecorded(
        &self,
        id: SourceId,
        decide: impl Fn(&Source) -> Result<Change>,
    ) -> Result<(Source, Changed)> {
        self.change_as(id, None, None, Recording::ByCaller, decide).await
    }

    async fn change_as(
        &self,
        id: SourceId,
        expected_version: Option<i64>,
        labels: Option<&LabelPatch>,
        recording: Recording,
        decide: impl Fn(&Source) -> Result<Change>,
    ) -> Result<(Source, Changed)> {
        let mut source = self.source(id).await?;
        for _ in 0..=ROUNDS_MAX {
            if expected_version.is_some_and(|expected| expected != source.version) {
                break;
            }
            let now = self.now();
            let change = decide(&source)?;
            let before = source.clone();
            let changed = apply(&mut source, change, now);
            let new_labels = self.new_labels(id, labels).await?;
            if changed == Changed::Nothing && new_labels.is_none() {
                return Ok((source, changed));
            }
            let events = source_events(&before, &source, &self.pipeline.policy(), now);
            let has_events = !events.is_empty();
            let saved = match recording {
                Recording::ByCaller => save(self.store.telling(events).as_ref(), &source, new_labels, now).await?,
                Recording::Each => {
                    let (old, new) = new_labels.as_ref().map(|labels| (&labels.old[..], &labels.new[..])).unzip();
                    let record = source_change(changed, (&before, old), (&source, new));
                    self.audited(record, async |store| {
                        save(store.telling(events).as_ref(), &source, new_labels, now).await
                    })
                    .await?
                }
            };
            match saved {
                Saved::Written(version) => {
                    (source.version, source.updated_at) = (version, now);
                    if has_events {
                        self.pipeline.events().note_arrival();
                    }
                    if changed != Changed::Nothing {
                        self.pipeline.sources_changed(vec![id]);
                    }
                    return Ok((source, changed));
                }
                Saved::Stale(fresh) => source = *fresh,
                Saved::Duplicate(other) => return Err(ServiceError::Duplicate(other)),
                Saved::Gone => return Err(ServiceError::not_found("source", id)),
            }
        }
        Err(ServiceError::Conflict { version: source.version })
    }

    /// The labels that the source has afterwards, if they change. Safe without a transaction: a change of labels is a
    /// new version, on which the change is decided again.
    async fn new_labels(&self, id: SourceId, patch: Option<&LabelPatch>) -> Result<Option<NewLabels>> {
        let Some(patch) = patch.filter(|patch| !patch.is_empty()) else { return Ok(None) };
        let current = self.store.labels_of(vec![id]).await?;
        let old: Vec<String> = current.into_iter().map(|(_, label)| label).collect();
        let new = patch.apply(&old)?;
        Ok((new != old).then_some(NewLabels { old, new }))
    }

    /// Removes a source with its posts; if a version is named, only if the source still has it.
    pub async fn remove_source(&self, id: SourceId, expected_version: Option<i64>) -> Result<()> {
        // A source whose row cannot be read can be removed, too.
        let change = match self.source(id).await {
            Ok(source) => AuditedChange { before: removed_fields(&source), ..of_source("source.remove", &source) },
            Err(_) => AuditedChange::new("source.remove", "source", Some(id.to_string())),
        };
        let is_removed = match expected_version {
            None => self.audited(change, async |store| store.remove_source(id).await).await?,
            Some(expected) => {
                let remove = async |store: &dyn Store| store.remove_source_version(id, expected).await;
                let is_removed = self.audited(change, remove).await?;
                if !is_removed {
                    return Err(ServiceError::Conflict { version: self.source(id).await?.version });
                }
                is_removed
            }
        };
        if !is_removed {
            return Err(ServiceError::not_found("source", id));
        }
        self.pipeline.sources_changed(vec![id]);
        Ok(())
    }
}

/// Adds sources with their labels to a store. A source that exists gets the labels that it lacks. For a pipeline that
/// runs, use [`Service::import`].
pub async fn add_sources(
    store: &dyn Store,
    new: Vec<(SourceSettings, Vec<String>)>,
    created_at: Timestamp,
) -> std::result::Result<Vec<Added>, StoreError> {
    let (mut sources, mut labels) = (Vec::new(), Vec::new());
    for (settings, of_source) in new {
        sources.push(NewSource { settings: canonicalize(store, settings).await?, created_at });
        labels.push(of_source);
    }
    let added = store.add_sources(sources).await?;
    let labelled = added.iter().zip(labels).filter(|(_, labels)| !labels.is_empty());
    let labelled: Vec<_> = labelled.map(|(added, labels)| (id_of(added), labels)).collect();
    if !labelled.is_empty() {
        store.add_labels(labelled, created_at).await?;
    }
    Ok(added)
}

/// Writes a source and its new labels.
async fn save(
    store: &dyn Store,
    source: &Source,
    labels: Option<NewLabels>,
    now: Timestamp,
) -> std::result::Result<Saved, StoreError> {
    match labels {
        None => store.save_source(source.clone(), now).await,
        Some(labels) => store.save_source_with_labels(source.clone(), labels.new, now).await,
    }
}

/// The record of an import.
pub fn import_change(import: &ImportedList) -> AuditedChange {
    AuditedChange::new("source.import", "source", None)
        .after("added", import.added)
        .after("duplicates", import.duplicates)
        .after("rejected", import.rejected)
        .after("is_complete", import.is_complete)
        .after("first_urls", import.first_urls.as_slice())
}

fn addition(settings: &SourceSettings, labels: &[String]) -> AuditedChange {
    let mut after = settings_fields(settings).given();
    if !labels.is_empty() {
        after.put("labels", labels);
    }
    AuditedChange { after, ..AuditedChange::new("source.add", "source", None).named(&shown_url(&settings.url)) }
}

/// What a removed source was.
fn removed_fields(source: &Source) -> AuditFields {
    settings_fields(&source.settings).given()
}

fn nothing_added() -> StoreError {
    StoreError::Internal("nothing was added".into())
}

fn id_of(added: &Added) -> SourceId {
    match added {
        Added::New(id) | Added::Duplicate(id) => *id,
    }
}

fn new_id(added: &Added) -> Option<SourceId> {
    match added {
        Added::New(id) => Some(*id),
        Added::Duplicate(_) => None,
    }
}

/// A reason that a user gave for leaving a source or host alone.
pub(super) fn valid_reason(reason: &str) -> Result<String> {
    if reason.trim().is_empty() || reason.chars().count() > REASON_CHARS_MAX {
        return Err(ServiceError::invalid("reason", format!("say why, in 1 to {REASON_CHARS_MAX} characters")));
    }
    Ok(reason.replace('\0', ""))
}
