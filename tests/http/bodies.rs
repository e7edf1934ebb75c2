//! How bodies end, and how they fail to.

use super::server::{Act, answer, send};
use super::{ask, ask_with, settings};
use feedwarden::http::HttpSettings;
use rstest::rstest;

#[rstest]
#[case::length("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200: hello")]
#[case::length_zero("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200: ")]
#[case::length_then_junk("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more", "200: hello")]
#[case::no_length("HTTP/1.1 200 OK\r\n\r\nuntil the end", "200: until the end")]
#[case::http_1_0("HTTP/1.0 200 OK\r\n\r\nuntil the end", "200: until the end")]
#[case::http_1_0_length("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "200: hello")]
#[case::equal_lengths("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "200: hello")]
#[case::equal_lengths_in_one_line("HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", "200: hello")]
#[case::chunked("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", "200: hello")]
#[case::chunked_with_extension(
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;name=value\r\nhello\r\n0\r\n\r\n",
    "200: hello"
)]
#[case::chunked_with_trailers(
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
    "200: hello"
)]
#[case::chunked_and_length(
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "200: hello"
)]
#[tokio::test]
async fn a_whole_body_is_read_whatever_its_framing(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(ask(answer(text)).await, expected);
}

#[rstest]
#[case::length_cut(
    "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
    "Connection: connection closed while reading the body"
)]
#[case::length_cut_at_once(
    "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n",
    "Connection: connection closed while reading the body"
)]
#[case::http_1_0_length_cut(
    "HTTP/1.0 200 OK\r\nContent-Length: 50\r\n\r\nhello",
    "Connection: connection closed while reading the body"
)]
#[case::chunk_cut(
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello",
    "Connection: connection closed while reading the body"
)]
#[case::last_chunk_missing(
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "Connection: connection closed while reading the body"
)]
#[case::last_line_missing(
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    "Connection: connection closed while reading the body"
)]
#[case::chunk_size_junk(
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n0\r\n\r\n",
    "Other: the chunked body is broken"
)]
#[case::chunk_size_overflow(
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello",
    "Other: the chunked body is broken"
)]
#[case::different_lengths(
    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "Other: the answer cannot be read as HTTP: invalid content-length parsed"
)]
#[case::negative_length(
    "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
    "Other: the answer cannot be read as HTTP: invalid content-length parsed"
)]
#[tokio::test]
async fn s103_s110_a_body_that_is_cut_off_or_misframed_is_never_taken_for_whole(
    #[case] text: &str,
    #[case] expected: &str,
) {
    assert_eq!(ask(answer(text)).await, expected);
}

#[tokio::test]
async fn s103_a_reset_in_the_body_says_so() {
    let acts = vec![Act::Read, send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"), Act::Reset];
    assert_eq!(ask(acts).await, "Connection: connection reset while reading the body");
    let acts = vec![Act::Read, send("HTTP/1.1 200 OK\r\n\r\nhello"), Act::Reset];
    assert_eq!(ask(acts).await, "Connection: connection reset while reading the body");
}

#[rstest]
#[case::at_the_limit("HTTP/1.1 200 OK\r\n\r\n12345678", "200: 12345678")]
#[case::over("HTTP/1.1 200 OK\r\n\r\n123456789", "Other: body over 8 bytes")]
#[case::announced_over("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "Other: body over 8 bytes")]
#[case::chunked_over(
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n",
    "Other: body over 8 bytes"
)]
#[tokio::test]
async fn p34_a_body_over_the_limit_is_given_up_mid_stream(#[case] text: &str, #[case] expected: &str) {
    // The server never ends the body, so that only giving up can end the request.
    let acts = vec![Act::Read, send(text), if expected.starts_with("200") { send("") } else { Act::Mute }];
    assert_eq!(ask_with(HttpSettings { body_bytes_max: 8, ..settings() }, acts).await, expected);
}

#[tokio::test]
async fn p34_the_default_limit_is_named_in_mebibytes() {
    let acts = vec![Act::Read, send("HTTP/1.1 200 OK\r\nContent-Length: 10485761\r\n\r\n"), Act::Mute];
    assert_eq!(ask(acts).await, "Other: body over 10 MiB");
}

#[rstest]
#[case::chunk_extension(format!("5;{}", "x".repeat(1_000_000)))]
#[case::trailers(format!("0\r\n{}", "X-Trailer: 1\r\n".repeat(100_000)))]
#[case::trailer_line(format!("0\r\nX-Trailer: {}", "x".repeat(1_000_000)))]
#[tokio::test]
async fn a_flood_around_the_chunks_is_cut_off(#[case] flood: String) {
    let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{flood}");
    // The server never ends the body, so that only giving up can end the request.
    assert_eq!(ask(vec![Act::Read, send(text), Act::Mute]).await, "Other: the chunked body is broken");
}
