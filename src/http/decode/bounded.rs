//! Output buffer with a limit.

use std::io::{self, Write};

use super::{DecodeError, DecodedBody, Encoding};

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

    /// The bytes, or the error: the limit takes precedence over an error of the decoder.
    pub(super) fn close(self, end: Result<(), DecodeError>) -> DecodedBody {
        let end = self.overflow().map_or(end, Err);
        DecodedBody { bytes: self.bytes, end }
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
        let room = self.limit - self.bytes.len();
        // Fill up to the limit, because a body may be cut there.
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
