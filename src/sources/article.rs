//! The page that an entry of a feed links to: requested and read like a website source.

use crate::fetch::Task;
use crate::model::{SourceAccess, SourceSettings, SourceType};

/// The task for the page of an entry. It has the pause of the source, if the source has its own, and the login of the
/// source if the page is at the origin that the login was given for.
pub fn article_task(source: &SourceSettings, access: SourceAccess, url: &str) -> Task {
    let settings = SourceSettings {
        poll_delay_seconds: source.poll_delay_seconds,
        ..SourceSettings::new(SourceType::Website, url)
    };
    let mut task = Task::new(settings);
    if access.origin.is_some() && access.is_for(url) {
        task.access = access;
    }
    task
}
