//! Reads and decodes the body of a response, up to its limit.

use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};

use super::decode::{DecodeError, Decoder, encodings};
use super::failure::{from_decode, from_hyper, too_large};
use super::progress::{RequestProgress, RequestStage};
use super::reply::Content;
use super::wire::HttpConnection;
use crate::model::FailureReport;

#[derive(Clone, Copy, Debug)]
pub(super) struct BodyLimits {
    pub(super) bytes_max: usize,
    pub(super) wire_bytes_max: usize,
    /// Whether a longer body is cut instead of rejected.
    pub(super) cuts: bool,
}

impl BodyLimits {
    /// Rejects a body over this limit, before and after decoding.
    pub(super) fn refuse_over(bytes_max: usize) -> BodyLimits {
        BodyLimits { bytes_max, wire_bytes_max: bytes_max, cuts: false }
    }
}

/// Reads until the body or the limits end.
pub(super) async fn read(
    link: &mut HttpConnection,
    body: &mut Incoming,
    limits: BodyLimits,
    progress: &mut RequestProgress,
) -> Result<Content, FailureReport> {
    let BodyLimits { bytes_max, wire_bytes_max, cuts } = limits;
    let undecodable = |error| from_decode(error, bytes_max);
    let encoded = progress.headers.0.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes);
    let mut decoder = Decoder::new(&encodings(encoded).map_err(undecodable)?, bytes_max).map_err(undecodable)?;
    // Reject by Content-Length without reading.
    if !cuts && body.size_hint().lower() > wire_bytes_max as u64 {
        return Err(too_large(wire_bytes_max));
    }
    let mut wire_bytes = 0;
    progress.stage = RequestStage::Reading { bytes: 0 };
    while let Some(piece) = link.piece(body).await {
        let piece = piece.map_err(|error| from_hyper(&error, progress.stage, false))?;
        wire_bytes += piece.len();
        progress.stage = RequestStage::Reading { bytes: wire_bytes };
        match decoder.push(&piece) {
            Err(DecodeError::TooLarge) if cuts => break,
            pushed => pushed.map_err(undecodable)?,
        }
        // An encoded body can be larger than the decoded one.
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
