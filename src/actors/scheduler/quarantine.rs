//! Rows that cannot be read: each is logged once, and read again at every tick, so that a corrected one is polled
//! without a restart.

use actix::fut::WrapFuture;
use actix::{ActorFutureExt, AsyncContext, Context};
use slog::{info, warn};

use super::SchedulerActor;
use crate::model::{HostKey, PostId, QuarantinedRow, RowKey, SourceId, WebhookId};
use crate::rules::shown_url::shown_row_url;
use crate::store::QuarantineNews;

/// The most rows that are read again in one tick; the next tick goes on with the next ones.
const CHECKED_AT_ONCE: usize = 1000;
/// The same for posts and for webhooks, which are read one by one.
const CHECKED_ONE_BY_ONE: usize = 100;
/// The most rows that are logged one by one; the number of further ones is logged.
const LOGGED_AT_ONCE: usize = 50;

/// The last row of each table that was read again; the next tick goes on after it.
pub(super) struct CheckedUpTo {
    source: SourceId,
    host: String,
    post: PostId,
    webhook: WebhookId,
}

impl Default for CheckedUpTo {
    fn default() -> CheckedUpTo {
        CheckedUpTo { source: SourceId(0), host: String::new(), post: PostId(0), webhook: WebhookId(0) }
    }
}

/// Where the next tick goes on: after the last of these rows, or from the start if there were no more.
fn go_on<K: Clone>(rows: &[K], limit: usize, start: K) -> K {
    rows.last().filter(|_| rows.len() == limit).cloned().unwrap_or(start)
}

impl SchedulerActor {
    /// Logs rows that have become unreadable or readable, and schedules sources that are readable again.
    pub(super) fn follow_quarantine(&mut self, ctx: &mut Context<SchedulerActor>) {
        let news = self.context.store.quarantine().take_news();
        if news.is_empty() {
            return;
        }
        let count = news.len();
        for (place, news) in news.into_iter().enumerate() {
            let is_logged = place < LOGGED_AT_ONCE;
            match news {
                QuarantineNews::Begun(row) => {
                    if let ("sources", RowKey::Id(id)) = (row.table, &row.key) {
                        self.forget([SourceId(*id)]);
                    }
                    if is_logged {
                        self.log_bad_row(&row);
                    }
                }
                QuarantineNews::Ended { table, key } => {
                    if let ("sources", RowKey::Id(id)) = (table, &key) {
                        self.changed.insert(SourceId(*id));
                    }
                    if is_logged {
                        info!(self.log, "row readable again"; "table" => table, "key" => key.to_string());
                    }
                }
            }
        }
        if count > LOGGED_AT_ONCE {
            warn!(self.log, "more rows quarantined"; "count" => count - LOGGED_AT_ONCE,
                "reason" => "`feedwarden quarantine` lists them");
        }
        self.refresh(ctx);
    }

    fn log_bad_row(&self, row: &QuarantinedRow) {
        warn!(self.log, "row quarantined";
            "table" => row.table,
            "key" => row.key.to_string(),
            "url" => row.url.as_deref().map(|url| shown_row_url(row.table, url)),
            "column" => &row.column,
            "value" => &row.value,
            "reason" => format!("{}; correct the value in the database, or remove the row", row.reason));
    }

    /// Reads rows again that could not be read.
    pub(super) fn check_quarantine(&mut self, ctx: &mut Context<SchedulerActor>) {
        let quarantine = self.context.store.quarantine();
        if quarantine.is_empty() {
            return;
        }
        let from = &self.quarantine_checked;
        let sources = quarantine.sources_after(from.source, CHECKED_AT_ONCE);
        let names = quarantine.hosts_after(&from.host, CHECKED_AT_ONCE);
        let posts = quarantine.posts_after(from.post, CHECKED_ONE_BY_ONE);
        let webhooks = quarantine.webhooks_after(from.webhook, CHECKED_ONE_BY_ONE);
        let start = CheckedUpTo::default();
        self.quarantine_checked = CheckedUpTo {
            source: go_on(&sources, CHECKED_AT_ONCE, start.source),
            host: go_on(&names, CHECKED_AT_ONCE, start.host),
            post: go_on(&posts, CHECKED_ONE_BY_ONE, start.post),
            webhook: go_on(&webhooks, CHECKED_ONE_BY_ONE, start.webhook),
        };
        self.changed.extend(sources);
        self.refresh(ctx);
        if names.is_empty() && posts.is_empty() && webhooks.is_empty() {
            return;
        }
        let hosts: Vec<HostKey> = names.iter().map(|name| HostKey::from_canonical(name)).collect();
        let store = self.context.store.clone();
        // What is found is noted by the store itself.
        let reading = async move {
            drop(store.hosts(hosts).await);
            for post in posts {
                drop(store.post(post).await);
            }
            for webhook in webhooks {
                drop(store.webhook(webhook).await);
            }
        };
        ctx.spawn(reading.into_actor(self).map(|(), scheduler, ctx| scheduler.follow_quarantine(ctx)));
    }
}
