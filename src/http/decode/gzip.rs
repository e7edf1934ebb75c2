//! gzip bodies: members, what stands between them, and what is not gzip at all.

use std::io::Write;

use flate2::write::GzDecoder;

use super::bounded::Bounded;
use super::{DecodeError, Encoding};

/// A gzip body: one member after the other, and whatever stands behind the last one is ignored as `gzip` does.
pub(super) enum Gzip {
    /// Before a member; its first two bytes decide whether it is one.
    Between {
        start: Vec<u8>,
        members: usize,
        output: Bounded,
    },
    Member {
        decoder: Box<GzDecoder<Bounded>>,
        members: usize,
    },
    /// Behind the last member, or not gzip at all, which happens where a proxy unpacks and forgets to say so.
    Over {
        output: Bounded,
        plain: bool,
    },
}

impl Gzip {
    pub(super) fn new(limit: usize) -> Gzip {
        Gzip::Between { start: Vec::new(), members: 0, output: Bounded::new(limit) }
    }

    const MAGIC: [u8; 2] = [0x1f, 0x8b];

    /// Takes the next piece.
    pub(super) fn push(&mut self, mut input: &[u8]) -> Result<(), DecodeError> {
        while !input.is_empty() {
            match self {
                Gzip::Between { start, members, output } => {
                    start.push(input[0]);
                    input = &input[1..];
                    if start.len() < 2 {
                        continue;
                    }
                    let mut output = std::mem::take(output);
                    if *start == Self::MAGIC {
                        let mut decoder = Box::new(GzDecoder::new(output));
                        decoder.write_all(start).map_err(|_| DecodeError::Broken(Encoding::Gzip))?;
                        *self = Gzip::Member { decoder, members: *members };
                    } else {
                        let plain = *members == 0;
                        if plain {
                            output.write_all(start).map_err(|_| DecodeError::TooLarge)?;
                        }
                        *self = Gzip::Over { output, plain };
                    }
                }
                Gzip::Member { decoder, members } => match decoder.write(input) {
                    Ok(0) => {
                        decoder.try_finish().map_err(|_| decoder.get_ref().blame(Encoding::Gzip))?;
                        let output = std::mem::take(decoder.get_mut());
                        *self = Gzip::Between { start: Vec::new(), members: *members + 1, output };
                    }
                    Ok(taken) => input = &input[taken..],
                    Err(_) => return Err(decoder.get_ref().blame(Encoding::Gzip)),
                },
                Gzip::Over { output, plain: true } => {
                    return output.write_all(input).map_err(|_| DecodeError::TooLarge);
                }
                Gzip::Over { plain: false, .. } => return Ok(()),
            }
        }
        Ok(())
    }

    /// The whole body, if it is whole.
    pub(super) fn finish(self) -> Result<Vec<u8>, DecodeError> {
        match self {
            Gzip::Over { output, .. } => Ok(output.bytes),
            Gzip::Between { start, .. } if start.first() == Some(&Self::MAGIC[0]) => {
                Err(DecodeError::CutOff(Encoding::Gzip))
            }
            Gzip::Between { start, members: 0, output } => Ok([output.bytes, start].concat()),
            Gzip::Between { output, .. } => Ok(output.bytes),
            Gzip::Member { mut decoder, .. } => match decoder.try_finish() {
                Ok(()) => Ok(std::mem::take(decoder.get_mut()).bytes),
                Err(_) => Err(decoder.get_ref().overflow().unwrap_or(DecodeError::CutOff(Encoding::Gzip))),
            },
        }
    }
}
