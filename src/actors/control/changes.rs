//! Changes of sources: read, decided on, saved with their version, told to the scheduler. No update is ever lost.

use super::{ControlError, PipelineHandle, canonicalize};
use crate::model::{NewSource, Source, SourceId, SourceSettings, Timestamp};
use crate::rules::change::{Change, Changed, apply};
use crate::store::{Added, Saved, Store, StoreError};

/// How often a change that names no version is tried again because somebody else was faster.
pub(super) const ROUNDS_MAX: usize = 20;

impl PipelineHandle {
    /// Changes a source; if a version is named, only if the source still has it. What to change may depend on the source
    /// as it stands.
    pub async fn change(
        &self,
        id: SourceId,
        expected_version: Option<i64>,
        decide: impl Fn(&Source) -> Change,
    ) -> Result<(Source, Changed), ControlError> {
        self.change_with_labels(id, expected_version, None, decide).await
    }

    /// The same; and the source has these labels and no others from then on, if any are given.
    pub async fn change_with_labels(
        &self,
        id: SourceId,
        expected_version: Option<i64>,
        labels: Option<&[String]>,
        decide: impl Fn(&Source) -> Change,
    ) -> Result<(Source, Changed), ControlError> {
        let (source, changed) = self.save_change(id, expected_version, labels, decide).await?;
        if changed != Changed::Nothing {
            self.sources_changed(vec![id]);
        }
        Ok((source, changed))
    }

    async fn save_change(
        &self,
        id: SourceId,
        expected_version: Option<i64>,
        labels: Option<&[String]>,
        decide: impl Fn(&Source) -> Change,
    ) -> Result<(Source, Changed), ControlError> {
        let context = &self.context;
        let mut source = context.store.source(id).await?.ok_or(ControlError::NoSuchSource(id))?;
        let mut rounds = 0;
        loop {
            if expected_version.is_some_and(|expected| expected != source.version) || rounds > ROUNDS_MAX {
                return Err(ControlError::Conflict { version: source.version });
            }
            let now = context.clock.now();
            let change = decide(&source);
            let changed = apply(&mut source, change, now);
            let new_labels = self.new_labels(id, labels).await?;
            let saved = match new_labels {
                None if changed == Changed::Nothing => return Ok((source, changed)),
                None => context.store.save_source(source.clone(), now).await?,
                Some(labels) => context.store.save_source_with_labels(source.clone(), labels, now).await?,
            };
            match saved {
                Saved::Written(version) => {
                    source.version = version;
                    source.updated_at = now;
                    return Ok((source, changed));
                }
                Saved::Stale(fresh) => source = *fresh,
                Saved::Duplicate(other) => return Err(ControlError::Duplicate(other)),
                Saved::Gone => return Err(ControlError::NoSuchSource(id)),
            }
            rounds += 1;
        }
    }

    /// These labels, if the source has others.
    async fn new_labels(&self, id: SourceId, labels: Option<&[String]>) -> Result<Option<Vec<String>>, ControlError> {
        let Some(labels) = labels else { return Ok(None) };
        let there = self.context.store.labels_of(vec![id]).await?;
        let is_new = !there.iter().map(|(_, label)| label).eq(labels);
        Ok(is_new.then(|| labels.to_vec()))
    }

    /// Adds sources, with their labels; each is new, or is there already.
    pub async fn add_sources(&self, new: Vec<(SourceSettings, Vec<String>)>) -> Result<Vec<Added>, ControlError> {
        let added = add_sources(self.context.store.as_ref(), new, self.context.clock.now()).await?;
        let fresh = added.iter().filter(|added| matches!(added, Added::New(_))).map(id_of);
        self.sources_changed(fresh.collect());
        Ok(added)
    }

    /// Removes a source with its posts; if a version is named, only if the source still has it.
    pub async fn remove_source(&self, id: SourceId, expected_version: Option<i64>) -> Result<(), ControlError> {
        let store = &self.context.store;
        if let Some(expected) = expected_version {
            let source = store.source(id).await?.ok_or(ControlError::NoSuchSource(id))?;
            if source.version != expected {
                return Err(ControlError::Conflict { version: source.version });
            }
        }
        if !store.remove_source(id).await? {
            return Err(ControlError::NoSuchSource(id));
        }
        self.sources_changed(vec![id]);
        Ok(())
    }
}

/// Adds sources to a store, with their labels; each is new, or is there already and gets the labels that it lacks.
pub async fn add_sources(
    store: &dyn Store,
    new: Vec<(SourceSettings, Vec<String>)>,
    created_at: Timestamp,
) -> Result<Vec<Added>, StoreError> {
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

fn id_of(added: &Added) -> SourceId {
    match added {
        Added::New(id) | Added::Duplicate(id) => *id,
    }
}
