//! Output buffer with a limit.

use std::io::{self, Write};

use super::{DecodeError, DecodedBody, Encoding};

/// Bytes of a full chunk. All chunks but the first few have the same size, so that the memory of one body fits the next:
/// one buffer that grows would leave holes that nothing fits.
const CHUNK_BYTES: usize = 64 * 1024;
const FIRST_CHUNK_BYTES: usize = 4 * 1024;

#[derive(Default)]
pub(super) struct Bounded {
    chunks: Vec<Vec<u8>>,
    length: usize,
    capacity: usize,
    limit: usize,
    overflowed: bool,
}

impl Bounded {
    pub(super) fn new(limit: usize) -> Bounded {
        Bounded { limit, ..Bounded::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Bytes of memory that it holds.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The bytes, or the error: the limit takes precedence over an error of the decoder.
    pub(super) fn close(mut self, end: Result<(), DecodeError>) -> DecodedBody {
        let end = self.overflow().map_or(end, Err);
        let bytes = match self.chunks.len() {
            0 | 1 => self.chunks.pop().unwrap_or_default(),
            _ => {
                let mut bytes = Vec::with_capacity(self.length);
                // Each chunk is freed as soon as it is copied.
                self.chunks.into_iter().for_each(|chunk| bytes.extend_from_slice(&chunk));
                bytes
            }
        };
        DecodedBody { bytes, end }
    }

    fn append(&mut self, mut input: &[u8]) {
        while !input.is_empty() {
            let room = self.chunks.last().map_or(0, |chunk| chunk.capacity() - chunk.len());
            if room == 0 {
                let chunk = Vec::with_capacity(self.length.clamp(FIRST_CHUNK_BYTES, CHUNK_BYTES));
                self.capacity += chunk.capacity();
                self.chunks.push(chunk);
                continue;
            }
            let (now, later) = input.split_at(input.len().min(room));
            if let Some(chunk) = self.chunks.last_mut() {
                chunk.extend_from_slice(now);
            }
            self.length += now.len();
            input = later;
        }
    }

    pub(super) fn overflow(&self) -> Option<DecodeError> {
        self.overflowed.then_some(DecodeError::TooLarge)
    }

    /// Decoders report the limit as an ordinary error; this identifies it.
    pub(super) fn blame(&self, encoding: Encoding) -> DecodeError {
        self.overflow().unwrap_or(DecodeError::Broken(encoding))
    }
}

impl Write for Bounded {
    fn write(&mut self, input: &[u8]) -> io::Result<usize> {
        let room = self.limit - self.length;
        // Fill up to the limit, because a body may be cut there.
        self.append(&input[..input.len().min(room)]);
        if input.len() > room {
            self.overflowed = true;
            return Err(io::Error::other("the decoded body is over its limit"));
        }
        Ok(input.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
