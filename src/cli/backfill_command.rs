//! `feedwarden source backfill`: stores the entries of older pages of a feed.

use hyper::Method;
use serde_json::json;

use super::Exit;
use super::client::{ApiClient, Done, read};
use super::progress::Progress;
use super::sanitize::plain;
use super::source_arguments::BackfillArguments;
use super::source_names::find_source_to_change;
use crate::api::views::{BackfillEnded, BackfillView};

/// Continues where a request ends for want of time, until the pages are read.
pub(super) async fn backfill(client: &ApiClient, arguments: &BackfillArguments) -> Done {
    let id = find_source_to_change(client, &arguments.source).await?;
    let progress = Progress::new();
    let mut total: Option<BackfillView> = None;
    let total = loop {
        let (pages_read, from) = total.as_ref().map_or((0, None), |total| (total.pages, total.next_url.clone()));
        progress.say(&format!("{pages_read} pages read …"));
        let body = json!({ "pages": arguments.pages - pages_read, "wordpress": arguments.wordpress, "from": from });
        let answer = client.send(Method::POST, &format!("/sources/{id}/backfill"), &body).await;
        progress.clear();
        let part: BackfillView = read(answer?)?;
        let mut sum = part.clone();
        if let Some(before) = &total {
            sum.pages += before.pages;
            sum.new_posts += before.new_posts;
            sum.entries.add(&before.entries);
        }
        if part.ended != BackfillEnded::OutOfTime || sum.pages >= arguments.pages {
            break sum;
        }
        total = Some(sum);
    };
    let has_failed = total.ended == BackfillEnded::Failed;
    match client.show(json!(total), |view: BackfillView| words(&view))? {
        Exit::Success if has_failed => Ok(Exit::Failure),
        exit => Ok(exit),
    }
}

fn words(view: &BackfillView) -> String {
    let mut text = format!(
        "{} {} read, {} {} stored: {}\n{}\n",
        view.pages,
        if view.pages == 1 { "page" } else { "pages" },
        view.new_posts,
        if view.new_posts == 1 { "post" } else { "posts" },
        plain(&view.reason),
        view.entries
    );
    if let Some(url) = &view.next_url {
        text.push_str(&format!("next page: {}\n", plain(url)));
    }
    text
}
