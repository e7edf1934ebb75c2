//! Documents that a feed links to: the page of an entry, which is requested and read like a website source, and pages
//! of older entries, which are feeds.

use crate::fetch::Task;
use crate::model::{SourceAccess, SourceSettings, SourceType};

/// The task for the page of an entry. It has the pause of the source, if the source has its own.
pub fn article_task(source: &SourceSettings, access: SourceAccess, url: &str) -> Task {
    let settings = SourceSettings {
        poll_delay_seconds: source.poll_delay_seconds,
        ..SourceSettings::new(SourceType::Website, url)
    };
    with_access(Task::new(settings), access)
}

/// The task for a request to a hub that pushes changes of a source.
pub fn hub_task(source: Option<&SourceSettings>, url: &str) -> Task {
    let proxy = source.and_then(|source| source.proxy.clone());
    Task::new(SourceSettings { proxy, ..SourceSettings::new(SourceType::COMMON, url) })
}

/// The task for a page of older entries.
pub fn archive_task(source: &SourceSettings, access: SourceAccess, url: &str) -> Task {
    with_access(Task::new(SourceSettings { url: url.to_owned(), ..source.clone() }), access)
}

/// The login of the source goes to the origin that it was given for and to no other (p23).
fn with_access(mut task: Task, access: SourceAccess) -> Task {
    if access.origin.is_some() && access.is_for(&task.settings.url) {
        task.access = access;
    }
    task
}
