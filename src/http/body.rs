//! Reads and decodes the body of a response, up to its limit.

use std::sync::Arc;

use hyper::body::{Body, Incoming};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};

use super::decode::{DecodeError, Decoder, Expansion, Pushed, encodings};
use super::failure::{from_decode, from_hyper, memory_short, too_large};
use super::memory::MemoryBudget;
use super::progress::{RequestProgress, RequestStage};
use super::reply::Content;
use super::wire::{HttpConnection, READ_BUFFER_BYTES_MAX};
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

/// The most encoded bytes of a kind with a bounded ratio (deflate: 1 to 1032) that are decoded between two looks at the
/// memory.
const STEP_BYTES: usize = 1024;

/// Reads until the body or the limits end.
pub(super) async fn read(
    link: &mut HttpConnection,
    body: &mut Incoming,
    limits: BodyLimits,
    budget: &Arc<MemoryBudget>,
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
    let memory = progress.memory.insert(budget.share()).clone();
    let mut wire_bytes = 0;
    progress.stage = RequestStage::Reading { bytes: 0 };
    'pieces: loop {
        let piece = tokio::select! {
            biased;
            refusal = memory.refused() => return Err(memory_short(refusal)),
            piece = link.piece(body) => piece,
        };
        let Some(piece) = piece else { break };
        let piece = piece.map_err(|error| from_hyper(&error, progress.stage, false))?;
        wire_bytes += piece.len();
        for mut step in piece.chunks(if decoder.expands() == Expansion::Bounded { STEP_BYTES } else { usize::MAX }) {
            loop {
                let Pushed { taken, is_done } = match decoder.push_some(step) {
                    Err(DecodeError::TooLarge) if cuts => break 'pieces,
                    pushed => pushed.map_err(undecodable)?,
                };
                step = &step[taken..];
                progress.stage = RequestStage::WaitingForMemory;
                // What came and is not decoded yet is in a buffer of the connection.
                let buffered = wire_bytes.min(READ_BUFFER_BYTES_MAX);
                memory.hold(decoder.held_bytes() + buffered).await.map_err(memory_short)?;
                progress.stage = RequestStage::Reading { bytes: wire_bytes };
                if is_done {
                    break;
                }
            }
        }
        // An encoded body can be larger than the decoded one.
        if wire_bytes > wire_bytes_max {
            return Err(too_large(wire_bytes_max));
        }
    }
    let decoded = {
        // Further encodings are undone in one go.
        let _turn = if decoder.has_further() { Some(budget.decoding().await) } else { None };
        decoder.finish()
    };
    memory.complete(decoded.bytes.capacity());
    let is_cut = match decoded.end {
        Err(DecodeError::TooLarge) if cuts => true,
        end => end.map_err(undecodable).map(|()| false)?,
    };
    let content_type = progress.headers.get(CONTENT_TYPE.as_str());
    Ok(Content::Body { bytes: decoded.bytes, content_type, wire_bytes, is_cut })
}
