//! The place that decoded bytes go to, which refuses to grow past its limit.

use std::io::{self, Write};

use super::{DecodeError, Decoded, Encoding};

/// Bytes that refuse to become more than their limit.
#[derive(Default)]
pub(super) struct Bounded {
    pub(super) bytes: Vec<u8>,
    limit: usize,
    overflowed: bool,
}

impl Bounded {
    pub(super) fn new(limit: usize) -> Bounded {
        Bounded { bytes: Vec::new(), limit, overflowed: false }
    }

    /// The bytes, and whether they are all: those that were refused count before what the decoder has to say.
    pub(super) fn close(self, end: Result<(), DecodeError>) -> Decoded {
        let end = self.overflow().map_or(end, Err);
        Decoded { bytes: self.bytes, end }
    }

    /// The error for bytes that were refused, if any were.
    pub(super) fn overflow(&self) -> Option<DecodeError> {
        self.overflowed.then_some(DecodeError::TooLarge)
    }

    /// The decoders pass our refusal on as an error like any other: this tells which it was.
    pub(super) fn blame(&self, encoding: Encoding) -> DecodeError {
        self.overflow().unwrap_or(DecodeError::Broken(encoding))
    }
}

impl Write for Bounded {
    fn write(&mut self, input: &[u8]) -> io::Result<usize> {
        let room = self.limit - self.bytes.len();
        // Filled to the brim, since a body may be wanted up to its limit.
        self.bytes.extend_from_slice(&input[..input.len().min(room)]);
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
