//! The inner loops of deflate and brotli: input in, decoded bytes into their bounded place.

use std::io::Write;

use brotli::{BrotliDecompressStream, BrotliResult, BrotliState, HeapAlloc, HuffmanCode};
use flate2::{Decompress, FlushDecompress, Status};

use super::bounded::Bounded;
use super::{DecodeError, Encoding};

const STEP_BYTES: usize = 16 * 1024;

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
) -> Result<(), DecodeError> {
    let mut piece = [0; STEP_BYTES];
    let (mut left, mut offset, mut total) = (input.len(), 0, 0);
    while !*ended {
        let (mut room, mut given) = (piece.len(), 0);
        let result =
            BrotliDecompressStream(&mut left, &mut offset, input, &mut room, &mut given, &mut piece, &mut total, state);
        output.write_all(&piece[..given]).map_err(|_| DecodeError::TooLarge)?;
        match result {
            BrotliResult::ResultSuccess => *ended = true,
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => break,
            BrotliResult::ResultFailure => return Err(DecodeError::Broken(Encoding::Brotli)),
        }
    }
    Ok(())
}
