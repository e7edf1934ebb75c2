//! Settings of sources as users give them, and what makes them invalid.

use super::{Result, ServiceError};
use crate::model::{
    Backlog, FullText, PodcastId, PushUse, SourceAccess, SourceProxy, SourceSettings, SourceType, check_user_agent,
};
use crate::sources::{detect_type, kind};

const URL_BYTES_MAX: usize = 4096;
const TITLE_CHARS_MAX: usize = 500;
const LABELS_MAX: usize = 16;
const LABEL_CHARS_MAX: usize = 100;

/// A source to be added.
#[derive(Clone, Debug, Default)]
pub struct NewSourceRequest {
    pub url: String,
    /// Follows from the URL if absent.
    pub source_type: Option<SourceType>,
    pub title: Option<String>,
    pub podcast_id: Option<PodcastId>,
    pub poll_interval_minutes: Option<u32>,
    pub poll_delay_seconds: Option<u32>,
    pub max_failures: Option<u32>,
    pub max_backoff_hours: Option<u32>,
    pub backlog: Option<Backlog>,
    pub full_text: Option<FullText>,
    pub user_agent: Option<String>,
    /// `none`, or the URL of a proxy.
    pub proxy: Option<String>,
    pub websub: Option<PushUse>,
    pub labels: Vec<String>,
    pub access: Option<SourceAccess>,
}

/// Changes to a source. An absent field stays as it is; `Some(None)` clears it.
#[derive(Clone, Debug, Default)]
pub struct SourcePatch {
    pub url: Option<String>,
    pub source_type: Option<SourceType>,
    pub title: Option<Option<String>>,
    pub podcast_id: Option<Option<PodcastId>>,
    pub poll_interval_minutes: Option<Option<u32>>,
    pub poll_delay_seconds: Option<Option<u32>>,
    pub max_failures: Option<Option<u32>>,
    pub max_backoff_hours: Option<Option<u32>>,
    pub backlog: Option<Option<Backlog>>,
    pub full_text: Option<Option<FullText>>,
    pub user_agent: Option<Option<String>>,
    pub proxy: Option<Option<String>>,
    pub websub: Option<Option<PushUse>>,
    pub labels: LabelPatch,
    pub enabled: Option<bool>,
}

/// Changes to the labels of a source, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelPatch {
    /// All labels that the source has afterwards.
    pub set: Option<Vec<String>>,
    /// Old and new name of a label; a source without the old one keeps its labels.
    pub rename: Option<(String, String)>,
    pub remove: Vec<String>,
    pub add: Vec<String>,
}

impl NewSourceRequest {
    /// The settings and labels, if all fields are valid. The URL is not canonical yet.
    pub(super) fn validate(&self) -> Result<(SourceSettings, Vec<String>)> {
        let url = self.url.trim();
        let from_url =
            || detect_type(url).map_err(|error| ServiceError::invalid("url", format!("{error}; or give a type")));
        let source_type = self.source_type.map_or_else(from_url, Ok)?;
        check_url(url, source_type)?;
        let settings = SourceSettings {
            podcast_id: self.podcast_id,
            source_type,
            url: url.to_owned(),
            title: self.title.as_deref().map(without_nul),
            poll_interval_minutes: self.poll_interval_minutes,
            poll_delay_seconds: self.poll_delay_seconds,
            max_failures: self.max_failures,
            max_backoff_hours: self.max_backoff_hours,
            backlog: self.backlog,
            full_text: self.full_text,
            user_agent: self.user_agent.as_deref().map(valid_user_agent).transpose()?,
            proxy: self.proxy.as_deref().map(valid_proxy).transpose()?,
            websub: self.websub,
        };
        check_bounds(&settings)?;
        Ok((settings, valid_labels(&self.labels)?))
    }
}

impl SourcePatch {
    /// These settings with the changes, if the result is valid. A URL that does not change is not checked again.
    pub(super) fn apply(&self, settings: &SourceSettings) -> Result<SourceSettings> {
        let mut new = settings.clone();
        new.source_type = self.source_type.unwrap_or(new.source_type);
        if let Some(url) = self.url.as_deref().or(self.source_type.map(|_| settings.url.as_str())) {
            check_url(url.trim(), new.source_type)?;
        }
        // Another spelling of the same URL neither restarts the source nor changes how its URL is stored.
        let canonical_url = |url| kind(new.source_type).canonical_url(url);
        let url = canonical_url(self.url.as_deref().unwrap_or(&settings.url));
        if new.source_type != settings.source_type || url != canonical_url(&settings.url) {
            new.url = url;
        }
        if let Some(title) = &self.title {
            new.title = title.as_deref().map(without_nul);
        }
        new.podcast_id = self.podcast_id.unwrap_or(new.podcast_id);
        new.poll_interval_minutes = self.poll_interval_minutes.unwrap_or(new.poll_interval_minutes);
        new.poll_delay_seconds = self.poll_delay_seconds.unwrap_or(new.poll_delay_seconds);
        new.max_failures = self.max_failures.unwrap_or(new.max_failures);
        new.max_backoff_hours = self.max_backoff_hours.unwrap_or(new.max_backoff_hours);
        new.backlog = self.backlog.unwrap_or(new.backlog);
        new.full_text = self.full_text.unwrap_or(new.full_text);
        if let Some(user_agent) = &self.user_agent {
            new.user_agent = user_agent.as_deref().map(valid_user_agent).transpose()?;
        }
        if let Some(proxy) = &self.proxy {
            new.proxy = proxy.as_deref().map(valid_proxy).transpose()?;
        }
        new.websub = self.websub.unwrap_or(new.websub);
        check_bounds(&new)?;
        Ok(new)
    }
}

impl LabelPatch {
    pub(super) fn is_empty(&self) -> bool {
        *self == LabelPatch::default()
    }

    /// The same with trimmed names, if all of them are valid and do not contradict each other.
    pub(super) fn validate(&self) -> Result<LabelPatch> {
        let is_by_one = self.rename.is_some() || !self.remove.is_empty() || !self.add.is_empty();
        if self.set.is_some() && is_by_one {
            let detail =
                "`labels` replaces all of them; it cannot be combined with add_labels, remove_labels or rename_label";
            return Err(ServiceError::invalid("labels", detail));
        }
        let one = |name: &str, field: &str| match valid_labels(&[name.to_owned()]) {
            Ok(mut labels) => Ok(labels.pop().unwrap_or_default()),
            Err(_) => Err(ServiceError::invalid(field, format!("a label has 1 to {LABEL_CHARS_MAX} characters"))),
        };
        let all = |names: &[String], field: &str| names.iter().map(|name| one(name, field)).collect::<Result<Vec<_>>>();
        let rename = |(old, new): &(String, String)| {
            Ok::<_, ServiceError>((one(old, "rename_label.from")?, one(new, "rename_label.to")?))
        };
        let patch = LabelPatch {
            set: self.set.as_deref().map(valid_labels).transpose()?,
            rename: self.rename.as_ref().map(rename).transpose()?,
            remove: all(&self.remove, "remove_labels")?,
            add: all(&self.add, "add_labels")?,
        };
        match patch.add.iter().find(|label| patch.remove.contains(label)) {
            Some(_) => Err(ServiceError::invalid("add_labels", "the same label cannot be added and removed")),
            None => Ok(patch),
        }
    }

    /// The labels of a source afterwards. New ones stand last; a renamed one keeps its place.
    pub(super) fn apply(&self, current: &[String]) -> Result<Vec<String>> {
        let mut labels: Vec<String> = self.set.clone().unwrap_or_else(|| current.to_vec());
        if let Some((old, new)) = &self.rename
            && let Some(place) = labels.iter().position(|label| label == old)
        {
            match labels.iter().any(|label| label == new && label != old) {
                true => drop(labels.remove(place)),
                false => labels[place].clone_from(new),
            }
        }
        labels.retain(|label| !self.remove.contains(label));
        for label in &self.add {
            if !labels.contains(label) {
                labels.push(label.clone());
            }
        }
        // A source that has too many labels already may still lose some.
        if labels.len() > LABELS_MAX && labels.len() > current.len() {
            return Err(ServiceError::invalid("add_labels", format!("a source has at most {LABELS_MAX} labels")));
        }
        Ok(labels)
    }
}

/// Neither store keeps NUL characters, so the answer must not show them either.
fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}

fn check_url(url: &str, source_type: SourceType) -> Result<()> {
    if url.is_empty() || url.len() > URL_BYTES_MAX {
        return Err(ServiceError::invalid("url", format!("a URL has 1 to {URL_BYTES_MAX} bytes")));
    }
    kind(source_type).check_url(url).map_err(|error| ServiceError::invalid("url", error))
}

fn valid_user_agent(user_agent: &str) -> Result<String> {
    let user_agent = user_agent.trim();
    if user_agent.is_empty() {
        return Err(ServiceError::invalid("user_agent", "write 1 to 256 characters, or null for the configured one"));
    }
    check_user_agent(user_agent).map_err(|error| ServiceError::invalid("user_agent", error))?;
    Ok(user_agent.to_owned())
}

fn valid_proxy(proxy: &str) -> Result<SourceProxy> {
    proxy.trim().parse().map_err(|error: &str| ServiceError::invalid("proxy", error))
}

fn check_bounds(settings: &SourceSettings) -> Result<()> {
    if settings.title.as_ref().is_some_and(|title| title.chars().count() > TITLE_CHARS_MAX) {
        return Err(ServiceError::invalid("title", format!("a title has at most {TITLE_CHARS_MAX} characters")));
    }
    let bounds = [
        ("poll_interval_minutes", settings.poll_interval_minutes, 1, 525_600),
        ("poll_delay_seconds", settings.poll_delay_seconds, 0, 86_400),
        ("max_failures", settings.max_failures, 1, 1_000_000),
        ("max_backoff_hours", settings.max_backoff_hours, 1, 8_760),
    ];
    for (field, value, min, max) in bounds {
        if value.is_some_and(|value| !(min..=max).contains(&value)) {
            return Err(ServiceError::invalid(field, format!("write a number from {min} to {max}")));
        }
    }
    Ok(())
}

pub(super) fn valid_labels(labels: &[String]) -> Result<Vec<String>> {
    let is_right = |label: &&String| (1..=LABEL_CHARS_MAX).contains(&label.trim().chars().count());
    if labels.len() > LABELS_MAX || !labels.iter().all(|label| is_right(&label)) {
        let detail = format!("at most {LABELS_MAX} labels of 1 to {LABEL_CHARS_MAX} characters");
        return Err(ServiceError::invalid("labels", detail));
    }
    Ok(labels.iter().map(|label| label.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn labels_change_one_by_one_and_keep_their_order() {
        let patch = |rename: Option<(&str, &str)>, remove: &str, add: &str| LabelPatch {
            set: None,
            rename: rename.map(|(old, new)| (old.to_owned(), new.to_owned())),
            remove: names(remove),
            add: names(add),
        };
        for (patch, before, after) in [
            (patch(None, "", "c"), "a b", "a b c"),
            (patch(None, "", "a"), "a b", "a b"),
            (patch(None, "a", "c"), "a b", "b c"),
            (patch(None, "x", ""), "a b", "a b"),
            (patch(Some(("a", "c")), "", ""), "a b", "c b"),
            (patch(Some(("a", "b")), "", ""), "a b", "b"),
            (patch(Some(("x", "c")), "", ""), "a b", "a b"),
            (patch(Some(("a", "a")), "", ""), "a b", "a b"),
        ] {
            assert_eq!(patch.apply(&names(before)).unwrap(), names(after), "{patch:?}");
        }
    }

    #[test]
    fn labels_are_bounded_and_do_not_contradict_each_other() {
        let many: Vec<String> = (0..LABELS_MAX).map(|number| number.to_string()).collect();
        let more = LabelPatch { add: names("one-more"), ..LabelPatch::default() };
        assert!(more.apply(&many).is_err());
        for wrong in [
            LabelPatch { add: names("a"), remove: names("a"), ..LabelPatch::default() },
            LabelPatch { add: vec![" ".into()], ..LabelPatch::default() },
            LabelPatch { set: Some(names("a")), add: names("b"), ..LabelPatch::default() },
            LabelPatch { rename: Some(("a".into(), String::new())), ..LabelPatch::default() },
        ] {
            assert!(wrong.validate().is_err(), "{wrong:?}");
        }
        let spaced = LabelPatch { add: vec![" a ".into()], ..LabelPatch::default() };
        assert_eq!(spaced.validate().unwrap().add, names("a"));
    }
}
