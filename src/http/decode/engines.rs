//! The inner loops of deflate and brotli: input in, decoded bytes into their bounded place.

use std::io::Write;

use brotli::{BrotliDecompressStream, BrotliResult, BrotliState, HeapAlloc, HuffmanCode};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::Operation;

use super::bounded::Bounded;
use super::{DecodeError, Encoding};

const STEP_BYTES: usize = 16 * 1024;
/// Output after which brotli and zstd stop for a look at the memory: a few bytes can expand to a whole body.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

pub(super) type Zstd = zstd::stream::raw::Decoder<'static>;

/// How far a piece was decoded.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Pushed {
    /// Bytes of it that were taken.
    pub(in crate::http) taken: usize,
    /// Whether all were, and nothing is left to be given out. If not, the rest is to be pushed, even if it is empty.
    pub(in crate::http) is_done: bool,
}

impl Pushed {
    pub(super) fn all(input: &[u8]) -> Pushed {
        Pushed { taken: input.len(), is_done: true }
    }
}

pub(super) type Brotli = BrotliState<HeapAlloc<u8>, HeapAlloc<u32>, HeapAlloc<HuffmanCode>>;

/// A brotli state of the strict kind: it knows no "large window", which would let a few bytes claim a gigabyte.
pub(super) fn strict_brotli() -> Box<Brotli> {
    let codes = HeapAlloc::new(HuffmanCode::default());
    Box::new(BrotliState::new_strict(HeapAlloc::new(0), HeapAlloc::new(0), codes))
}

pub(super) fn push_deflate(
    inflate: &mut Decompress,
    ended: &mut bool,
    output: &mut Bounded,
    mut input: &[u8],
) -> Result<(), DecodeError> {
    let mut piece = [0; STEP_BYTES];
    while !*ended {
        let (taken_before, given_before) = (inflate.total_in(), inflate.total_out());
        let status = inflate
            .decompress(input, &mut piece, FlushDecompress::None)
            .map_err(|_| DecodeError::Broken(Encoding::Deflate))?;
        let taken = usize::try_from(inflate.total_in() - taken_before).unwrap_or(input.len());
        let given = usize::try_from(inflate.total_out() - given_before).unwrap_or(piece.len());
        input = &input[taken..];
        output.write_all(&piece[..given]).map_err(|_| DecodeError::TooLarge)?;
        *ended = status == Status::StreamEnd;
        if taken == 0 && given == 0 {
            break;
        }
    }
    Ok(())
}

pub(super) fn push_brotli(
    state: &mut Brotli,
    ended: &mut bool,
    output: &mut Bounded,
    input: &[u8],
) -> Result<Pushed, DecodeError> {
    let mut piece = [0; STEP_BYTES];
    let (mut left, mut offset, mut total, mut written) = (input.len(), 0, 0, 0);
    while !*ended {
        let (mut room, mut given) = (piece.len(), 0);
        let result =
            BrotliDecompressStream(&mut left, &mut offset, input, &mut room, &mut given, &mut piece, &mut total, state);
        output.write_all(&piece[..given]).map_err(|_| DecodeError::TooLarge)?;
        written += given;
        match result {
            BrotliResult::ResultSuccess => *ended = true,
            BrotliResult::NeedsMoreOutput if written >= OUTPUT_BYTES_MAX => {
                return Ok(Pushed { taken: offset, is_done: false });
            }
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => break,
            BrotliResult::ResultFailure => return Err(DecodeError::Broken(Encoding::Brotli)),
        }
    }
    Ok(Pushed::all(input))
}

pub(super) fn push_zstd(
    decoder: &mut Zstd,
    ended: &mut bool,
    output: &mut Bounded,
    input: &[u8],
) -> Result<Pushed, DecodeError> {
    let mut piece = [0; STEP_BYTES];
    let (mut taken, mut written) = (0, 0);
    loop {
        let status =
            decoder.run_on_buffers(&input[taken..], &mut piece).map_err(|_| DecodeError::Broken(Encoding::Zstd))?;
        output.write_all(&piece[..status.bytes_written]).map_err(|_| DecodeError::TooLarge)?;
        taken += status.bytes_read;
        written += status.bytes_written;
        *ended = status.remaining == 0;
        let is_stuck = status.bytes_read == 0 && status.bytes_written == 0;
        // A piece that is not full is the last of what was taken.
        if is_stuck || (taken == input.len() && (*ended || status.bytes_written < piece.len())) {
            return Ok(Pushed::all(input));
        }
        if written >= OUTPUT_BYTES_MAX {
            return Ok(Pushed { taken, is_done: false });
        }
    }
}
