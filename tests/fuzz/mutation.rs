//! Random changes to an input: the small ones that damage a document, and the crossing of two documents.

use rand::RngExt;
use rand::rngs::StdRng;

/// Longer inputs than this cost time and show nothing new.
const BYTES_MAX: usize = 32 << 10;
/// The longest piece that is left out, doubled or taken from another input.
const PIECE_BYTES_MAX: usize = 200;
/// Bytes that mean something to a reader are tried more often than others.
const TELLING: &[u8] = b"<>&;'\"/=![]{}:,-\\#? \n\t\0\x1B\x80\xC2\xE2\xFF\xFE09aZ";

/// One of the inputs with some changes.
pub(super) fn mutated(inputs: &[Vec<u8>], random: &mut StdRng) -> Vec<u8> {
    let mut bytes = pick(inputs, random).clone();
    for _ in 0..random.random_range(1..=8) {
        change(&mut bytes, inputs, random);
    }
    bytes.truncate(BYTES_MAX);
    bytes
}

fn change(bytes: &mut Vec<u8>, inputs: &[Vec<u8>], random: &mut StdRng) {
    let place = random.random_range(0..=bytes.len());
    match random.random_range(0..6) {
        0 => bytes.insert(place, *pick(TELLING, random)),
        1 if place < bytes.len() => bytes[place] = *pick(TELLING, random),
        2 if place < bytes.len() => bytes[place] ^= 1 << random.random_range(0..8),
        3 => drop(bytes.drain(place..(place + random.random_range(1..PIECE_BYTES_MAX)).min(bytes.len()))),
        4 => {
            let piece = piece(bytes, random).repeat(random.random_range(1..4));
            bytes.splice(place..place, piece);
        }
        _ => {
            let other = pick(inputs, random);
            let piece = piece(other, random);
            bytes.splice(place..place, piece);
        }
    }
}

fn piece(bytes: &[u8], random: &mut StdRng) -> Vec<u8> {
    let start = random.random_range(0..=bytes.len());
    bytes[start..(start + random.random_range(1..PIECE_BYTES_MAX)).min(bytes.len())].to_vec()
}

fn pick<'a, T>(all: &'a [T], random: &mut StdRng) -> &'a T {
    &all[random.random_range(0..all.len())]
}
