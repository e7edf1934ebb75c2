//! `feedwarden import` and `export`: lists of sources as OPML.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use hyper::Method;
use hyper::body::Bytes;

use super::client::{ApiClient, Done};
use super::connection::{RequestBody, Sent};
use super::error::CliError;
use super::progress::Progress;
use super::source_arguments::backlogs;
use super::{Exit, complain};
use crate::api::views::ImportReport;

const PIECE_BYTES: usize = 64 * 1024;

#[derive(Args, Debug)]
pub(super) struct ImportArguments {
    /// OPML file; - reads standard input
    file: PathBuf,
    /// Entries older than the added sources: skip, keep (within source.max-article-age-days) or all [default:
    /// source.backlog]
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "keep",
        value_parser = backlogs())]
    backlog: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct Export {
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A file being uploaded, and the number of bytes sent.
struct Upload {
    file: Box<dyn Read + Send>,
    sent: u64,
    total: u64,
    progress: Progress,
}

/// Imports a list; reports unusable entries and imports the rest.
pub(super) async fn import(client: &ApiClient, import: &ImportArguments) -> Done {
    let unreadable =
        |error: std::io::Error| CliError::Usage(format!("{} cannot be read: {error}", import.file.display()));
    let (file, total): (Box<dyn Read + Send>, u64) = if import.file == Path::new("-") {
        (Box::new(std::io::stdin()), 0)
    } else {
        let file = File::open(&import.file).map_err(unreadable)?;
        let about = file.metadata().map_err(unreadable)?;
        if about.is_dir() {
            return Err(unreadable(ErrorKind::IsADirectory.into()));
        }
        (Box::new(file), about.len())
    };
    let upload = Upload { file, sent: 0, total, progress: Progress::new() };
    let path = match &import.backlog {
        Some(backlog) => format!("/opml?backlog={backlog}"),
        None => "/opml".to_owned(),
    };
    let value = client.upload(&path, "text/x-opml", RequestBody::Pieces(Box::new(upload))).await;
    Progress::new().clear();
    let value = value?;
    if !client.is_json {
        let report: ImportReport = super::client::read(value.clone())?;
        for problem in &report.problems {
            complain(&format_args!("{}: {}", import.file.display(), super::sanitize::plain(problem)));
        }
    }
    client.show(value, |report: ImportReport| {
        let ImportReport { added, duplicates, rejected, .. } = report;
        format!("{added} sources added, {duplicates} duplicates, {rejected} invalid\n")
    })
}

pub(super) async fn export(client: &ApiClient, export: &Export) -> Done {
    if client.is_json {
        let text = "OPML cannot be printed as JSON; use `feedwarden source list --all --json`";
        return Err(CliError::Usage(text.into()));
    }
    let mut body = client.opened(Method::GET, "/opml", Sent::default()).await?.into_body();
    let unwritable = |error: &std::io::Error| CliError::Failed(format!("the list cannot be written: {error}"));
    let mut output: Box<dyn Write> = match &export.output {
        Some(path) => Box::new(File::create(path).map_err(|error| unwritable(&error))?),
        None => Box::new(std::io::stdout()),
    };
    while let Some(piece) = client.piece(&mut body).await? {
        match output.write_all(&piece).and_then(|()| output.flush()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            Err(error) => return Err(unwritable(&error)),
        }
    }
    Ok(Exit::Success)
}

impl Iterator for Upload {
    type Item = std::io::Result<Bytes>;

    fn next(&mut self) -> Option<std::io::Result<Bytes>> {
        let mut piece = vec![0; PIECE_BYTES];
        match self.file.read(&mut piece) {
            Ok(0) => None,
            Ok(length) => {
                piece.truncate(length);
                self.sent += length as u64;
                self.progress.draw(self.sent >> 10, self.total.max(self.sent) >> 10, "KB");
                Some(Ok(piece.into()))
            }
            Err(error) => Some(Err(error)),
        }
    }
}
