//! Reads the body of an answer: decoded, and never more of it than its limit.

use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};

use super::decode::{DecodeError, Decoder, encodings};
use super::failure::{from_decode, from_hyper, too_large};
use super::progress::{RequestProgress, Stage};
use super::reply::Content;
use super::wire::Link;
use crate::model::FailureReport;

/// How much of a body is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Once decoded.
    pub(super) bytes_max: usize,
    /// On the wire.
    pub(super) wire_bytes_max: usize,
    /// Whether a longer body is cut instead of being refused.
    pub(super) cuts: bool,
}

impl Limits {
    /// Refuses a body over this limit, on the wire as well as decoded.
    pub(super) fn refuse_over(bytes_max: usize) -> Limits {
        Limits { bytes_max, wire_bytes_max: bytes_max, cuts: false }
    }
}

/// Reads until the body or the limits end.
pub(super) async fn read(
    link: &mut Link,
    body: &mut Incoming,
    limits: Limits,
    progress: &mut RequestProgress,
) -> Result<Content, FailureReport> {
    let Limits { bytes_max, wire_bytes_max, cuts } = limits;
    let undecodable = |error| from_decode(error, bytes_max);
    let encoded = progress.headers.0.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes);
    let mut decoder = Decoder::new(&encodings(encoded).map_err(undecodable)?, bytes_max).map_err(undecodable)?;
    // What says that it is too large need not be read to believe it.
    if !cuts && body.size_hint().lower() > wire_bytes_max as u64 {
        return Err(too_large(wire_bytes_max));
    }
    let mut wire_bytes = 0;
    progress.stage = Stage::Reading { bytes: 0 };
    while let Some(piece) = link.piece(body).await {
        let piece = piece.map_err(|error| from_hyper(&error, progress.stage, false))?;
        wire_bytes += piece.len();
        progress.stage = Stage::Reading { bytes: wire_bytes };
        match decoder.push(&piece) {
            Err(DecodeError::TooLarge) if cuts => break,
            pushed => pushed.map_err(undecodable)?,
        }
        // An encoding can say little in many bytes.
        if wire_bytes > wire_bytes_max {
            return Err(too_large(wire_bytes_max));
        }
    }
    let decoded = decoder.finish();
    let is_cut = match decoded.end {
        Err(DecodeError::TooLarge) if cuts => true,
        end => end.map_err(undecodable).map(|()| false)?,
    };
    let content_type = progress.headers.get(CONTENT_TYPE.as_str());
    Ok(Content::Body { bytes: decoded.bytes, content_type, wire_bytes, is_cut })
}
