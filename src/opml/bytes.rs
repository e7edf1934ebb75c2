//! Decodes a list chunk by chunk, in its actual charset.

use std::io::{self, BufRead, Read};

use encoding_rs::{CoderResult, Decoder, Encoding};

use crate::parse::charset;

/// Chunk size, and number of bytes used to detect the charset.
const PIECE_BYTES: usize = 64 * 1024;
/// Bytes in which an XML declaration must start.
const HEAD_BYTES: usize = 1024;

pub(super) struct DecodingReader<R> {
    input: R,
    head: Vec<u8>,
    /// Undecided as long as all bytes are ASCII.
    decoder: Option<Decoder>,
    pub(super) is_over: bool,
}

impl<R: BufRead> DecodingReader<R> {
    pub(super) fn new(input: R) -> DecodingReader<R> {
        DecodingReader { input, head: Vec::new(), decoder: None, is_over: false }
    }

    /// Appends the next chunk to a text, also the part before an error.
    pub(super) fn pull(&mut self, text: &mut String) -> io::Result<()> {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let outcome = self.input.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece);
        self.is_over = piece.len() < PIECE_BYTES;
        if self.decoder.is_none() && piece.iter().any(|byte| !byte.is_ascii() || matches!(byte, 0 | 0x1B)) {
            let encoding = encoding_of(&[self.head.as_slice(), &piece].concat(), self.is_over)?;
            self.decoder = Some(encoding.new_decoder_with_bom_removal());
        }
        if self.head.is_empty() {
            self.head.extend(piece.iter().take(HEAD_BYTES));
        }
        match &mut self.decoder {
            Some(decoder) => decode(decoder, &piece, text, self.is_over),
            // All of it is ASCII.
            None => text.push_str(&String::from_utf8_lossy(&piece)),
        }
        outcome.map(drop)
    }
}

fn encoding_of(sample: &[u8], is_whole: bool) -> io::Result<&'static Encoding> {
    // A character split at the end of the chunk must not count against UTF-8.
    let sample = match std::str::from_utf8(sample) {
        Err(error) if error.error_len().is_none() && !is_whole => &sample[..error.valid_up_to()],
        _ => sample,
    };
    let name = charset::decode(sample, None, None).charset;
    Encoding::for_label(name.as_bytes()).ok_or_else(|| io::Error::other(format!("it is written in {name}")))
}

fn decode(decoder: &mut Decoder, piece: &[u8], text: &mut String, is_last: bool) {
    let mut rest = piece;
    loop {
        text.reserve(decoder.max_utf8_buffer_length(rest.len()).unwrap_or(PIECE_BYTES));
        let (result, read, _) = decoder.decode_to_string(rest, text, is_last);
        rest = &rest[read..];
        if result == CoderResult::InputEmpty {
            return;
        }
    }
}
