//! Tells open pages that something happened, so that they load their changed parts again.
//!
//! The stream carries no data. It compares a number every other second, which costs next to nothing however many polls
//! are made, and a page that is hidden closes it.

use std::time::Duration;

use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::stream;
use tokio::sync::OwnedSemaphorePermit;

use super::page::PageResult;
use crate::api::{LocalApi, SITE};

/// Shortest time between two notifications.
const INTERVAL: Duration = Duration::from_secs(2);
/// A page loads its parts anew after this many intervals at the latest: times pass, and other nodes work too.
const QUIET_INTERVALS: u32 = 5;

pub(super) fn routes(config: &mut web::ServiceConfig) {
    config.service(web::resource(format!("{SITE}/events")).get(events));
}

struct Watch {
    local: LocalApi,
    request: HttpRequest,
    last: u64,
    quiet: u32,
    has_begun: bool,
    has_ended: bool,
    _place: OwnedSemaphorePermit,
}

async fn events(local: LocalApi, request: HttpRequest) -> PageResult {
    let place = local.stream_place()?;
    let last = local.activity();
    let watch = Watch { local, request, last, quiet: 0, has_begun: false, has_ended: false, _place: place };
    let events = stream::unfold(watch, |mut watch| async move {
        let bytes = watch.next().await?;
        Some((Ok::<_, actix_web::Error>(bytes), watch))
    });
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(events))
}

impl Watch {
    async fn next(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        if !self.has_begun {
            self.has_begun = true;
            return Some(Bytes::from_static(b"retry: 3000\nevent: begin\ndata:\n\n"));
        }
        loop {
            tokio::time::sleep(INTERVAL).await;
            if !self.local.is_signed_in(&self.request) {
                self.has_ended = true;
                return Some(Bytes::from_static(b"event: end\ndata:\n\n"));
            }
            let now = self.local.activity();
            self.quiet += 1;
            if now != self.last || self.quiet >= QUIET_INTERVALS {
                (self.last, self.quiet) = (now, 0);
                return Some(Bytes::from_static(b"event: change\ndata:\n\n"));
            }
        }
    }
}
