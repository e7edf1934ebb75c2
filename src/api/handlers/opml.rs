//! Import and export of OPML, streamed in both directions.

use std::io::{self, Read, Write};

use actix_web::http::Method;
use actix_web::web::{self, Bytes};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use futures_util::{StreamExt, stream};
use tokio::sync::mpsc;

use super::super::Api;
use super::super::endpoint::Endpoint;
use super::super::guard::{Caller, CallerService};
use super::super::input::Parameters;
use super::super::problem::Problem;
use super::super::views::{ImportQuery, ImportReport};
use super::HandlerResult;
use crate::model::{Source, SourceId, SourceSettings};
use crate::opml::{self, BadOutline, Outline, Why};
use crate::rules::shown_url::shown_url;
use crate::service::{self, ImportedList, Service};
use crate::store::Added;

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        Endpoint::new(Method::GET, "/opml", "Export all sources as OPML", export)
            .answers_text("text/x-opml", "OPML document"),
        Endpoint::new(Method::POST, "/opml", "Import sources from OPML; folders become labels", import)
            .query::<ImportQuery>()
            .text_body("text/x-opml")
            .answers::<ImportReport>(200, "Outcome of the import"),
    ]
}

/// Capacity of the queues between connection, parser and store.
const PIECES: usize = 8;
const BATCH: usize = 500;
/// Maximum number of reported errors.
const PROBLEMS_MAX: usize = 1000;
/// Number of URLs in the audit record of an import.
const FIRST_URLS: usize = 10;
const PIECE_BYTES: usize = 16 * 1024;

async fn import(
    api: web::Data<Api>,
    CallerService(service): CallerService,
    request: HttpRequest,
    Parameters(query): Parameters<ImportQuery>,
    mut payload: web::Payload,
) -> HandlerResult {
    let content_type = request.content_type().to_lowercase();
    if !["text/x-opml", "text/xml", "application/xml", "application/octet-stream", ""].contains(&content_type.as_str())
    {
        return Err(Problem::wrong_type("send text/x-opml").at("Content-Type"));
    }
    let (limit, within) = (api.limits.import_bytes, api.limits.answer_within);
    let (pieces, incoming) = mpsc::channel::<io::Result<Bytes>>(PIECES);
    let (outlines, mut found) = mpsc::channel::<Vec<Result<Outline, BadOutline>>>(PIECES);
    let reading =
        actix_rt::task::spawn_blocking(move || read(Incoming { pieces: incoming, rest: Bytes::new() }, &outlines));
    let feeding = async {
        let mut sent = 0;
        // No total timeout as long as data arrives.
        while let Some(piece) = tokio::time::timeout(within, payload.next()).await? {
            let piece = piece.map_err(io::Error::other)?;
            sent += piece.len();
            if sent > limit {
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, "too large"));
            }
            if pieces.send(Ok(piece)).await.is_err() {
                break;
            }
        }
        drop(pieces);
        Ok(())
    };
    let adding = async {
        let (mut report, mut first_urls) = (ImportReport::default(), Vec::new());
        let mut added = Ok(());
        while let Some(batch) = found.recv().await {
            added = add(&service, &query, batch, &mut report, &mut first_urls).await;
            if added.is_err() {
                break;
            }
        }
        // Without a receiver, neither the parser nor the connection goes on.
        drop(found);
        (report, first_urls, added)
    };
    let (fed, (report, first_urls, added)) = futures_util::join!(feeding, adding);
    let was_read = reading.await.map_err(Problem::internal)?;
    // A source that exists may have got labels.
    if report.added + report.duplicates > 0 {
        let is_complete = fed.is_ok() && added.is_ok() && was_read.is_ok();
        let ImportReport { added, duplicates, rejected, .. } = report;
        service.note_import(ImportedList { added, duplicates, rejected, is_complete, first_urls }).await;
    }
    let report = added.map(|()| report);
    match fed.map_err(|error| error.kind()) {
        Err(io::ErrorKind::FileTooLarge) => {
            let text = format!("a list may have {limit} bytes; {} sources of its beginning were added", report?.added);
            return Err(Problem::too_large(text));
        }
        Err(io::ErrorKind::TimedOut) => {
            let text = format!("the rest of the list did not come; {} sources were added", report?.added);
            return Err(Problem::too_slow(text));
        }
        _ => {}
    }
    was_read.map_err(Problem::invalid)?;
    Ok(HttpResponse::Ok().json(report?))
}

/// Parses outlines and sends them in batches; runs on a blocking thread.
fn read(incoming: Incoming, outlines: &mpsc::Sender<Vec<Result<Outline, BadOutline>>>) -> Result<(), opml::OpmlError> {
    let mut batch = Vec::new();
    for outline in opml::Reader::new(io::BufReader::new(incoming))? {
        batch.push(outline);
        if batch.len() == BATCH && outlines.blocking_send(std::mem::take(&mut batch)).is_err() {
            return Ok(());
        }
    }
    let _ = outlines.blocking_send(batch);
    Ok(())
}

async fn add(
    service: &Service,
    query: &ImportQuery,
    batch: Vec<Result<Outline, BadOutline>>,
    report: &mut ImportReport,
    first_urls: &mut Vec<String>,
) -> Result<(), Problem> {
    let mut new = Vec::new();
    for outline in batch {
        match outline {
            Ok(outline) => {
                let mut settings = SourceSettings::new(opml::SOURCE_TYPE, outline.feed_url);
                settings.title = outline.title;
                settings.backlog = query.backlog;
                new.push((settings, outline.labels));
            }
            Err(bad) => {
                match bad.why {
                    Why::Duplicate { .. } => report.duplicates += 1,
                    Why::NameCut(_) => {}
                    _ => report.rejected += 1,
                }
                if report.problems.len() < PROBLEMS_MAX {
                    report.problems.push(bad.to_string());
                }
            }
        }
    }
    let urls: Vec<String> = new.iter().map(|(settings, _)| settings.url.clone()).collect();
    for (added, url) in service.import(new).await?.into_iter().zip(urls) {
        match added {
            Added::New(_) => {
                report.added += 1;
                if first_urls.len() < FIRST_URLS {
                    first_urls.push(shown_url(&url));
                }
            }
            Added::Duplicate(_) => report.duplicates += 1,
        }
    }
    Ok(())
}

/// The body as a blocking reader.
struct Incoming {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    rest: Bytes,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.rest = piece?,
                None => return Ok(0),
            }
        }
        let length = self.rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&self.rest.split_to(length));
        Ok(length)
    }
}

async fn export(api: web::Data<Api>, caller: Caller) -> HandlerResult {
    let (outlines, mut list) = mpsc::channel::<Outline>(BATCH);
    let (pieces, outgoing) = mpsc::channel::<Result<Bytes, io::Error>>(PIECES);
    actix_rt::spawn(async move {
        // Once the response has begun, an error can only cut it off.
        let _ = collect(&api, caller, &outlines).await;
    });
    actix_rt::task::spawn_blocking(move || {
        let writer = io::BufWriter::with_capacity(PIECE_BYTES, Outgoing(pieces));
        opml::write(writer, "Feedwarden", std::iter::from_fn(|| list.blocking_recv()))
    });
    let body =
        stream::unfold(outgoing, |mut outgoing| async move { outgoing.recv().await.map(|piece| (piece, outgoing)) });
    Ok(HttpResponse::Ok()
        .content_type("text/x-opml; charset=utf-8")
        .insert_header(("Content-Disposition", "attachment; filename=\"feedwarden.opml\""))
        .streaming(body))
}

/// Feeds grouped by their first label, then those without a label.
async fn collect(api: &Api, caller: Caller, outlines: &mpsc::Sender<Outline>) -> service::Result<()> {
    let mut label: Option<String> = None;
    loop {
        let next = api.service.labels(label.as_deref(), 1).await?.into_iter().next();
        let Some((name, _)) = next else { break };
        if !send(api, caller, Some(&name), outlines).await? {
            return Ok(());
        }
        label = Some(name);
    }
    send(api, caller, None, outlines).await.map(|_| ())
}

/// Sends sources with this first label; false if the client has disconnected.
async fn send(
    api: &Api,
    caller: Caller,
    first: Option<&str>,
    outlines: &mpsc::Sender<Outline>,
) -> service::Result<bool> {
    let mut after: Option<SourceId> = None;
    loop {
        let sources = api.service.labelled_sources(first, after, BATCH as u32).await?;
        let Some((last, _)) = sources.last() else { return Ok(true) };
        after = Some(last.id);
        let feeds = sources.into_iter().filter(|(source, _)| source.settings.source_type == opml::SOURCE_TYPE);
        for (source, own) in feeds {
            if own.first().map(String::as_str) == first && outlines.send(outline(source, own, caller)).await.is_err() {
                return Ok(false);
            }
        }
    }
}

fn outline(source: Source, labels: Vec<String>, caller: Caller) -> Outline {
    let url = source.settings.url;
    let feed_url = if caller.sees_secrets { url } else { shown_url(&url) };
    Outline { title: source.settings.title.or(source.state.feed_title), feed_url, site_url: None, labels, line: 0 }
}

/// The response as a blocking writer.
struct Outgoing(mpsc::Sender<Result<Bytes, io::Error>>);

impl Write for Outgoing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(bytes);
        self.0.blocking_send(Ok(piece)).map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
