//! gzip bodies: members, trailing data, and bodies that are not gzip.

use std::io::Write;

use flate2::write::GzDecoder;

use super::bounded::Bounded;
use super::{DecodeError, DecodedBody, Encoding};

/// A gzip body: a sequence of members; trailing data is ignored, as by `gzip`.
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
    /// After the last member, or not gzip: some proxies decompress bodies and keep the header.
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

    /// What is decoded so far.
    pub(super) fn output(&self) -> &Bounded {
        match self {
            Gzip::Between { output, .. } | Gzip::Over { output, .. } => output,
            Gzip::Member { decoder, .. } => decoder.get_ref(),
        }
    }

    /// The body, and whether it is whole.
    pub(super) fn finish(self) -> DecodedBody {
        let cut_off = Err(DecodeError::CutOff(Encoding::Gzip));
        match self {
            Gzip::Over { output, .. } => output.close(Ok(())),
            Gzip::Between { start, output, .. } if start.first() == Some(&Self::MAGIC[0]) => output.close(cut_off),
            Gzip::Between { start, members: 0, mut output } => {
                // An overflow is noted by the output itself.
                let _ = output.write_all(&start);
                output.close(Ok(()))
            }
            Gzip::Between { output, .. } => output.close(Ok(())),
            Gzip::Member { mut decoder, .. } => {
                let is_whole = decoder.get_ref().overflow().is_none() && decoder.try_finish().is_ok();
                std::mem::take(decoder.get_mut()).close(if is_whole { Ok(()) } else { cut_off })
            }
        }
    }
}
