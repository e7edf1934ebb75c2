//! Small bodies that decode to enormous ones. The peak of memory is a property of a process, so the client runs in one
//! of its own.

use std::io::Write;
use std::process::Command;

use super::server::{Server, answer};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use rstest::rstest;

const MEBIBYTE: usize = 1024 * 1024;
/// How much the bombs decode to, and how little memory that may take.
const BOMB_MEBIBYTES: usize = 192;
const GROWTH_KIBIBYTES_MAX: u64 = 64 * 1024;

/// Writes zeroes into an encoder.
fn fill(encoder: &mut impl Write) {
    let zeroes = vec![0; MEBIBYTE];
    for _ in 0..BOMB_MEBIBYTES {
        encoder.write_all(&zeroes).unwrap();
    }
}

fn gzip_bomb() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    fill(&mut encoder);
    encoder.finish().unwrap()
}

fn zlib_bomb() -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    fill(&mut encoder);
    encoder.finish().unwrap()
}

fn deflate_bomb() -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    fill(&mut encoder);
    encoder.finish().unwrap()
}

fn brotli_bomb() -> Vec<u8> {
    let mut bomb = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut bomb, 4096, 3, 24);
    fill(&mut encoder);
    drop(encoder);
    bomb
}

fn zstd_bomb() -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    fill(&mut encoder);
    encoder.finish().unwrap()
}

/// A frame that asks for a window of 128 MiB before it can be read.
fn zstd_window_bomb() -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(27).unwrap();
    fill(&mut encoder);
    encoder.finish().unwrap()
}

/// A stream that asks for brotli's "large window" of a gigabyte, which HTTP does not know.
fn brotli_window_bomb() -> Vec<u8> {
    let mut bomb = Vec::new();
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: 1,
        lgwin: 30,
        large_window: true,
        size_hint: BOMB_MEBIBYTES * MEBIBYTE,
        ..Default::default()
    };
    let mut zeroes = std::io::Read::take(std::io::repeat(0), 16 * MEBIBYTE as u64);
    brotli::BrotliCompress(&mut zeroes, &mut bomb, &parameters).unwrap();
    bomb
}

/// gzip inside gzip: the outer layer is small, the inner one is not.
fn nested_bomb() -> Vec<u8> {
    super::encodings::gzip(&gzip_bomb())
}

#[rstest]
#[case::gzip("gzip", gzip_bomb(), "Other: body over 10 MiB")]
#[case::zlib("deflate", zlib_bomb(), "Other: body over 10 MiB")]
#[case::deflate("deflate", deflate_bomb(), "Other: body over 10 MiB")]
#[case::brotli("br", brotli_bomb(), "Other: body over 10 MiB")]
#[case::zstd("zstd", zstd_bomb(), "Other: body over 10 MiB")]
#[case::zstd_window("zstd", zstd_window_bomb(), "Unreadable: the zstd body is broken")]
#[case::brotli_window("br", brotli_window_bomb(), "Unreadable: the brotli body is broken")]
#[case::nested("gzip, gzip", nested_bomb(), "Other: body over 10 MiB")]
#[tokio::test]
async fn p34_a_bomb_takes_less_than_64_mebibytes(#[case] label: &str, #[case] bomb: Vec<u8>, #[case] expected: &str) {
    assert!(bomb.len() < 2 * MEBIBYTE, "{} bytes are no small body", bomb.len());
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {label}\r\nContent-Length: {}\r\n\r\n", bomb.len());
    let server = Server::play(answer([head.as_bytes(), &bomb].concat())).await;
    let mut child = Command::new(crate::child("ask_once"));
    child.arg(server.url("/"));
    let output = tokio::task::spawn_blocking(move || child.output().unwrap()).await.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let (growth_kibibytes, outcome) = printed.trim_end().split_once(' ').expect(&printed);
    assert_eq!(outcome, expected);
    let growth_kibibytes: u64 = growth_kibibytes.parse().unwrap();
    assert!(growth_kibibytes < GROWTH_KIBIBYTES_MAX, "the peak grew by {growth_kibibytes} KiB");
}
