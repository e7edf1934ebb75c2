//! Decodes `Content-Encoding` chunk by chunk, within a limit of decoded bytes. No I/O.
//!
//! Windows are bounded too: 32 KiB for gzip and deflate, 16 MiB for brotli (no "large window"), 8 MiB for zstd
//! (RFC 9659), so that no body can make the process hold more than the limit and one window.

mod bounded;
mod engines;
mod gzip;

use std::io::Write;

use flate2::Decompress;
use zstd::stream::raw::DParameter;

use bounded::Bounded;
pub(super) use engines::Pushed;
use engines::{Brotli, Zstd, push_brotli, push_deflate, push_zstd, strict_brotli};
use gzip::Gzip;

const ZSTD_WINDOW_LOG_MAX: u32 = 23;
const BROTLI_WINDOW_BYTES_MAX: usize = 16 << 20;
/// Window, tables and buffers of deflate.
const DEFLATE_BYTES: usize = 128 << 10;
/// Maximum number of encodings of one body.
const ENCODINGS_MAX: usize = 2;

/// Why a body cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DecodeError {
    /// It is larger than allowed.
    TooLarge,
    /// It starts like this encoding, and is then invalid.
    Broken(Encoding),
    /// It ends before its encoding does.
    CutOff(Encoding),
    /// The encoding is not supported.
    Unsupported(String),
}

/// The encodings that can be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
#[cfg_attr(test, derive(strum::VariantArray))]
#[strum(serialize_all = "lowercase")]
pub(super) enum Encoding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Reads the values of `Content-Encoding` into the encodings to undo, the last applied first.
pub(super) fn encodings<'a>(values: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Encoding>, DecodeError> {
    let mut found = Vec::new();
    for value in values {
        for name in String::from_utf8_lossy(value).split(',') {
            match name.trim().to_ascii_lowercase().as_str() {
                "gzip" | "x-gzip" => found.push(Encoding::Gzip),
                "deflate" => found.push(Encoding::Deflate),
                "br" => found.push(Encoding::Brotli),
                "zstd" => found.push(Encoding::Zstd),
                // Some servers send names of charsets or mail encodings with bodies that are not encoded.
                "" | "identity" | "none" | "utf-8" | "utf8" | "binary" | "8bit" | "7bit" => {}
                other => return Err(DecodeError::Unsupported(other.chars().take(32).collect())),
            }
        }
    }
    if found.len() > ENCODINGS_MAX {
        return Err(DecodeError::Unsupported(format!("{} encodings on one body", found.len())));
    }
    found.reverse();
    Ok(found)
}

/// How much a piece can grow by being decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expansion {
    None,
    /// About a thousand times.
    Bounded,
    /// Up to the limit of the body.
    Unbounded,
}

/// Takes the encoded body piece by piece.
pub(super) struct Decoder {
    stage: DecodeStage,
    started: bool,
    /// What is still to be undone once the first encoding is.
    rest: Vec<Encoding>,
    limit: usize,
}

impl Decoder {
    /// A decoder for these encodings, as [`encodings`] lists them, that gives out at most `limit` bytes.
    pub(super) fn new(encodings: &[Encoding], limit: usize) -> Result<Decoder, DecodeError> {
        let (stage, rest) = match encodings.split_first() {
            None => (DecodeStage::Plain(Bounded::new(limit)), &[][..]),
            Some((first, rest)) => (DecodeStage::new(*first, limit)?, rest),
        };
        Ok(Decoder { stage, started: false, rest: rest.to_vec(), limit })
    }

    /// Takes the next piece, or as much of it as expands to a few hundred kilobytes.
    pub(super) fn push_some(&mut self, input: &[u8]) -> Result<Pushed, DecodeError> {
        if input.is_empty() && !self.started {
            return Ok(Pushed::all(input));
        }
        self.started = true;
        self.stage.push_some(input)
    }

    /// Takes the next piece.
    #[cfg(test)]
    fn push(&mut self, input: &[u8]) -> Result<(), DecodeError> {
        if input.is_empty() {
            return Ok(());
        }
        self.started = true;
        self.stage.push(input)
    }

    /// How much a piece can grow by being decoded.
    pub(super) fn expands(&self) -> Expansion {
        match self.stage {
            DecodeStage::Plain(_) => Expansion::None,
            DecodeStage::Gzip(_) | DecodeStage::Deflate { .. } => Expansion::Bounded,
            DecodeStage::Brotli { .. } | DecodeStage::Zstd { .. } => Expansion::Unbounded,
        }
    }

    /// Whether more than one encoding is to be undone.
    pub(super) fn has_further(&self) -> bool {
        !self.rest.is_empty()
    }

    /// About the bytes of memory that it holds: what is decoded, and the window of the encoding.
    pub(super) fn held_bytes(&self) -> usize {
        let (output, window_max) = match &self.stage {
            DecodeStage::Plain(output) => (output, 0),
            DecodeStage::Gzip(gzip) => (gzip.output(), DEFLATE_BYTES),
            DecodeStage::Deflate { output, .. } => (output, DEFLATE_BYTES),
            DecodeStage::Brotli { output, .. } => (output, BROTLI_WINDOW_BYTES_MAX),
            DecodeStage::Zstd { output, .. } => (output, 1 << ZSTD_WINDOW_LOG_MAX),
        };
        // Of a window only what was written is in memory.
        output.capacity() + output.len().min(window_max)
    }

    /// The body, and whether it is whole. A body of no bytes at all is empty, whatever it is labelled as.
    pub(super) fn finish(self) -> DecodedBody {
        let mut decoded =
            if self.started { self.stage.finish() } else { DecodedBody { bytes: Vec::new(), end: Ok(()) } };
        for encoding in self.rest {
            if decoded.bytes.is_empty() {
                break;
            }
            let outer = decoded.end;
            decoded = match DecodeStage::new(encoding, self.limit) {
                Ok(mut stage) => {
                    let pushed = stage.push(&decoded.bytes);
                    let inner = stage.finish();
                    DecodedBody { bytes: inner.bytes, end: outer.and(pushed).and(inner.end) }
                }
                Err(error) => DecodedBody { bytes: Vec::new(), end: outer.and(Err(error)) },
            };
        }
        decoded
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct DecodedBody {
    /// Everything, or as much as was decoded before the end came.
    pub(super) bytes: Vec<u8>,
    /// Whether the end is that of the body.
    pub(super) end: Result<(), DecodeError>,
}

/// One encoding being undone.
enum DecodeStage {
    Plain(Bounded),
    Gzip(Gzip),
    Deflate { start: Vec<u8>, inflate: Option<Decompress>, ended: bool, output: Bounded },
    Brotli { state: Box<Brotli>, ended: bool, output: Bounded },
    Zstd { decoder: Box<Zstd>, ended: bool, output: Bounded },
}

impl DecodeStage {
    fn new(encoding: Encoding, limit: usize) -> Result<DecodeStage, DecodeError> {
        let output = Bounded::new(limit);
        Ok(match encoding {
            Encoding::Gzip => DecodeStage::Gzip(Gzip::new(limit)),
            Encoding::Deflate => DecodeStage::Deflate { start: Vec::new(), inflate: None, ended: false, output },
            Encoding::Brotli => DecodeStage::Brotli { state: strict_brotli(), ended: false, output },
            Encoding::Zstd => {
                let broken = |_| DecodeError::Broken(Encoding::Zstd);
                let mut decoder = Zstd::new().map_err(broken)?;
                decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX)).map_err(broken)?;
                DecodeStage::Zstd { decoder: Box::new(decoder), ended: false, output }
            }
        })
    }

    /// Takes all of the input.
    fn push(&mut self, mut input: &[u8]) -> Result<(), DecodeError> {
        loop {
            let Pushed { taken, is_done } = self.push_some(input)?;
            if is_done {
                return Ok(());
            }
            input = &input[taken..];
        }
    }

    /// Takes all of the input, or as much of it as expands to a few hundred kilobytes.
    fn push_some(&mut self, input: &[u8]) -> Result<Pushed, DecodeError> {
        match self {
            DecodeStage::Brotli { state, ended, output } => push_brotli(state, ended, output, input),
            DecodeStage::Zstd { decoder, ended, output } => push_zstd(decoder, ended, output, input),
            others => others.push_bounded(input).map(|()| Pushed::all(input)),
        }
    }

    /// Takes all of an input that does not expand without bound.
    fn push_bounded(&mut self, input: &[u8]) -> Result<(), DecodeError> {
        match self {
            DecodeStage::Plain(output) => output.write_all(input).map_err(|_| DecodeError::TooLarge),
            DecodeStage::Gzip(gzip) => gzip.push(input),
            DecodeStage::Deflate { start, inflate, ended, output } => match inflate {
                Some(inflate) => push_deflate(inflate, ended, output, input),
                None => {
                    start.extend_from_slice(input);
                    if start.len() < 2 {
                        return Ok(());
                    }
                    // Servers mean zlib or raw deflate; RFC 1950's check bits distinguish them.
                    let zlib = start[0] & 0x0f == 8 && u16::from_be_bytes([start[0], start[1]]) % 31 == 0;
                    push_deflate(inflate.insert(Decompress::new(zlib)), ended, output, &std::mem::take(start))
                }
            },
            DecodeStage::Brotli { .. } | DecodeStage::Zstd { .. } => self.push(input),
        }
    }

    fn finish(self) -> DecodedBody {
        let ended = |ended, encoding| if ended { Ok(()) } else { Err(DecodeError::CutOff(encoding)) };
        match self {
            DecodeStage::Plain(output) => output.close(Ok(())),
            DecodeStage::Gzip(gzip) => gzip.finish(),
            DecodeStage::Deflate { ended: is_ended, output, .. } => output.close(ended(is_ended, Encoding::Deflate)),
            DecodeStage::Brotli { ended: is_ended, output, .. } => output.close(ended(is_ended, Encoding::Brotli)),
            DecodeStage::Zstd { ended: is_ended, output, .. } => output.close(ended(is_ended, Encoding::Zstd)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use strum::VariantArray;

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_are_decoded_or_refused_within_the_limit(
            body in proptest::collection::vec(any::<u8>(), 0..300),
            magic in any::<bool>(),
            piece_bytes in 1_usize..50,
        ) {
            for encoding in Encoding::VARIANTS.iter().copied() {
                let mut decoder = Decoder::new(&[encoding], 1000).unwrap();
                let starts: &[u8] = match encoding {
                    Encoding::Gzip => &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
                    Encoding::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
                    Encoding::Deflate | Encoding::Brotli => &[],
                };
                let body = if magic { [starts, &body].concat() } else { body.clone() };
                let pushed = body.chunks(piece_bytes).try_for_each(|piece| decoder.push(piece));
                let decoded = decoder.finish();
                prop_assert!(decoded.bytes.len() <= 1000);
                if pushed == Err(DecodeError::TooLarge) {
                    prop_assert_eq!((decoded.bytes.len(), decoded.end), (1000, Err(DecodeError::TooLarge)));
                }
            }
        }
    }

    #[test]
    fn the_last_encoding_applied_is_the_first_to_be_undone() {
        let values: [&[u8]; 2] = [b"gzip", b"identity, br"];
        assert_eq!(encodings(values.into_iter()), Ok(vec![Encoding::Brotli, Encoding::Gzip]));
    }
}
