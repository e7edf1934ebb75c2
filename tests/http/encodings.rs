//! Encoded bodies: whole, cut off, mislabelled.

use std::io::Write;

use super::server::{Act, Server, answer, send};
use super::{ask, ask_with, client, outcome, settings};
use feedwarden::http::{Content, HttpSettings, Request};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use rstest::rstest;

const TEXT: &[u8] = b"<rss version='2.0'><channel/></rss>";
const WHOLE: &str = "200: <rss version='2.0'><channel/></rss>";

pub(super) fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn brotli(plain: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    let mut encoder = brotli::CompressorWriter::new(&mut encoded, 4096, 5, 22);
    encoder.write_all(plain).unwrap();
    drop(encoder);
    encoded
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    zstd::encode_all(plain, 3).unwrap()
}

fn cut(bytes: Vec<u8>, by: usize) -> Vec<u8> {
    bytes[..bytes.len() - by].to_vec()
}

fn encoded(label: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {label}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

#[rstest]
#[case::gzip("gzip", gzip(TEXT))]
#[case::x_gzip("x-gzip", gzip(TEXT))]
#[case::capitals("GZIP", gzip(TEXT))]
#[case::gzip_members("gzip", [gzip(&TEXT[..10]), gzip(&TEXT[10..20]), gzip(&TEXT[20..])].concat())]
#[case::gzip_then_zeroes("gzip", [gzip(TEXT), vec![0; 30]].concat())]
#[case::gzip_then_one_byte("gzip", [gzip(TEXT), vec![0]].concat())]
#[case::labelled_but_not_gzip("gzip", TEXT.to_vec())]
#[case::zlib_deflate("deflate", zlib(TEXT))]
#[case::raw_deflate("deflate", raw_deflate(TEXT))]
#[case::brotli("br", brotli(TEXT))]
#[case::zstd("zstd", zstd(TEXT))]
#[case::zstd_frames("zstd", [zstd(&TEXT[..10]), zstd(&TEXT[10..])].concat())]
#[case::two_encodings("gzip, br", brotli(&gzip(TEXT)))]
#[case::said_twice_done_once("gzip, gzip", gzip(TEXT))]
#[case::identity("identity", TEXT.to_vec())]
#[case::a_charset_by_mistake("utf-8", TEXT.to_vec())]
#[tokio::test]
async fn a_whole_encoded_body_is_decoded(#[case] label: &str, #[case] body: Vec<u8>) {
    assert_eq!(ask(answer(encoded(label, &body))).await, WHOLE);
}

#[rstest]
#[case("gzip")]
#[case("deflate")]
#[case("br")]
#[case("zstd")]
#[tokio::test]
async fn an_empty_body_is_empty_whatever_its_label(#[case] label: &str) {
    assert_eq!(ask(answer(encoded(label, b""))).await, "200: ");
}

#[rstest]
#[case::gzip_checksum("gzip", cut(gzip(TEXT), 4), "Unreadable: the gzip body ends early")]
#[case::gzip_middle("gzip", cut(gzip(TEXT), 20), "Unreadable: the gzip body ends early")]
#[case::gzip_head("gzip", gzip(TEXT)[..5].to_vec(), "Unreadable: the gzip body ends early")]
#[case::gzip_first_byte("gzip", gzip(TEXT)[..1].to_vec(), "Unreadable: the gzip body ends early")]
#[case::gzip_second_member("gzip", [gzip(TEXT), cut(gzip(TEXT), 10)].concat(), "Unreadable: the gzip body ends early")]
#[case::gzip_damaged("gzip", [&gzip(TEXT)[..10], &[0xff; 40]].concat(), "Unreadable: the gzip body is broken")]
#[case::gzip_wrong_checksum("gzip", {
    let mut body = gzip(TEXT);
    let place = body.len() - 5;
    body[place] ^= 1;
    [body, gzip(TEXT)].concat()
}, "Unreadable: the gzip body is broken")]
#[case::zlib("deflate", cut(zlib(TEXT), 3), "Unreadable: the deflate body ends early")]
#[case::raw_deflate("deflate", cut(raw_deflate(TEXT), 3), "Unreadable: the deflate body ends early")]
#[case::deflate_one_byte("deflate", vec![0x78], "Unreadable: the deflate body ends early")]
#[case::not_deflate("deflate", TEXT.to_vec(), "Unreadable: the deflate body is broken")]
#[case::brotli("br", cut(brotli(TEXT), 3), "Unreadable: the brotli body ends early")]
#[case::not_brotli("br", TEXT.to_vec(), "Unreadable: the brotli body is broken")]
#[case::zstd("zstd", cut(zstd(TEXT), 3), "Unreadable: the zstd body ends early")]
#[case::not_zstd("zstd", TEXT.to_vec(), "Unreadable: the zstd body is broken")]
#[case::unknown("compress", TEXT.to_vec(), "Unreadable: content encoding \"compress\" is not supported")]
#[case::too_many("gzip, gzip, gzip", TEXT.to_vec(), "Unreadable: content encoding \"3 encodings on one body\" is not supported")]
#[tokio::test]
async fn an_encoding_that_is_cut_off_or_broken_is_an_error(
    #[case] label: &str,
    #[case] body: Vec<u8>,
    #[case] expected: &str,
) {
    assert_eq!(ask(answer(encoded(label, &body))).await, expected);
}

#[rstest]
#[case("gzip", gzip(&[b'a'; 1001]))]
#[case("deflate", zlib(&[b'a'; 1001]))]
#[case("deflate", raw_deflate(&[b'a'; 1001]))]
#[case("br", brotli(&[b'a'; 1001]))]
#[case("zstd", zstd(&[b'a'; 1001]))]
#[case("gzip, gzip", gzip(&gzip(&[b'a'; 1001])))]
#[tokio::test]
async fn p34_the_limit_counts_decoded_bytes(#[case] label: &str, #[case] body: Vec<u8>) {
    let limited = |body_bytes_max| HttpSettings { body_bytes_max, ..settings() };
    assert_eq!(ask_with(limited(1001), answer(encoded(label, &body))).await, "200: 1001 bytes");
    assert_eq!(ask_with(limited(1000), answer(encoded(label, &body))).await, "Other: body over 1000 bytes");
}

#[tokio::test]
async fn an_encoded_body_may_come_in_any_pieces() {
    for (label, body) in [("gzip", gzip(TEXT)), ("deflate", zlib(TEXT)), ("br", brotli(TEXT)), ("zstd", zstd(TEXT))] {
        let chunks: Vec<u8> = body.iter().flat_map(|byte| [b"1\r\n".as_slice(), &[*byte], b"\r\n"].concat()).collect();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {label}\r\nTransfer-Encoding: chunked\r\n\r\n");
        assert_eq!(ask(answer([head.as_bytes(), &chunks, b"0\r\n\r\n"].concat())).await, WHOLE, "{label}");
    }
}

#[tokio::test]
async fn a_body_cut_on_the_wire_is_a_connection_failure_even_if_encoded() {
    let body = gzip(TEXT);
    let text = encoded("gzip", &body);
    assert_eq!(ask(answer(&text[..text.len() - 9])).await, "Connection: connection closed while reading the body");
}

#[rstest]
#[case::plain("identity", TEXT.to_vec())]
#[case::gzip("gzip", gzip(TEXT))]
#[case::gzip_members("gzip", [gzip(&TEXT[..10]), gzip(&TEXT[10..])].concat())]
#[case::gzip_that_is_plain("gzip", TEXT.to_vec())]
#[case::zlib("deflate", zlib(TEXT))]
#[case::raw_deflate("deflate", raw_deflate(TEXT))]
#[case::brotli("br", brotli(TEXT))]
#[case::zstd("zstd", zstd(TEXT))]
#[case::two("gzip, br", brotli(&gzip(TEXT)))]
#[tokio::test]
async fn a_body_that_may_be_cut_is_cut_exactly_there(#[case] label: &str, #[case] body: Vec<u8>) {
    let length = TEXT.len();
    for (cut_at_bytes, expected) in [(20, 20), (length - 1, length - 1), (length, length), (length + 1, length)] {
        // With two encodings the outer one is cut as well, and what it gave may say less than it could have.
        if label == "gzip, br" && cut_at_bytes < gzip(TEXT).len() {
            continue;
        }
        let server = Server::play(answer(encoded(label, &body))).await;
        let request = Request { cut_at_bytes: Some(cut_at_bytes), ..Request::new(server.url("/")) };
        let reply = client(settings()).send(&request).await.unwrap();
        let Content::Body { bytes, is_cut, .. } = reply.content else { panic!("{:?}", reply.content) };
        assert_eq!((bytes.as_slice(), is_cut), (&TEXT[..expected], cut_at_bytes < length), "{label} at {cut_at_bytes}");
    }
}

#[tokio::test]
async fn p29_a_body_that_may_be_cut_is_not_read_to_its_end() {
    // The rest never comes, so waiting for it ends at the deadline.
    let acts = vec![Act::Read, send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nhello"), Act::Mute];
    let server = Server::play(acts).await;
    let client = client(settings());
    let request = Request { cut_at_bytes: Some(4), keep_alive: true, ..Request::new(server.url("/")) };
    assert_eq!(outcome(client.send(&request).await), "200: hell");
    assert_eq!(client.idle_connections(), 0, "a connection in the middle of a body is of no use");
}

#[tokio::test]
async fn p34_what_may_be_cut_is_still_bounded_on_the_wire() {
    // Empty gzip members say nothing, however many there are.
    let body = gzip(b"").repeat(100);
    let settings = HttpSettings { body_bytes_max: 1000, ..settings() };
    let server = Server::play(answer(encoded("gzip", &body))).await;
    let request = Request { cut_at_bytes: Some(500), ..Request::new(server.url("/")) };
    assert_eq!(outcome(client(settings).send(&request).await), "Other: body over 1000 bytes");
}
