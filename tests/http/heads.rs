//! What stands before the body, and what should not.

use super::ask;
use super::server::{Act, answer, send};
use rstest::rstest;

fn with_headers(count: usize, value_bytes: usize) -> String {
    let lines: String = (0..count).map(|number| format!("X-{number}: {}\r\n", "v".repeat(value_bytes))).collect();
    format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\nok")
}

#[rstest]
#[case::interim_100("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]
#[case::interim_103("HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]
#[case::interim_several(
    "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
)]
#[case::a_hundred_headers(&with_headers(100, 5))]
#[case::two_hundred_headers(&with_headers(200, 5))]
#[case::sixty_four_kilobytes(&with_headers(64, 1000))]
#[case::one_long_header(&with_headers(1, 60_000))]
#[case::no_reason("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok")]
#[case::strange_reason("HTTP/1.1 200 H\u{e4}rlig!\r\nContent-Length: 2\r\n\r\nok")]
#[case::line_feeds_only("HTTP/1.1 200 OK\nContent-Length: 2\n\nok")]
#[case::empty_lines_first("\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]
#[case::space_before_colon("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok")]
#[case::folded_header("HTTP/1.1 200 OK\r\nX-Long: one\r\n two\r\nContent-Length: 2\r\n\r\nok")]
#[case::line_without_colon("HTTP/1.1 200 OK\r\nthis is not a header\r\nContent-Length: 2\r\n\r\nok")]
#[case::name_with_junk("HTTP/1.1 200 OK\r\nX Y(z): 1\r\nContent-Length: 2\r\n\r\nok")]
#[case::empty_name("HTTP/1.1 200 OK\r\n: nothing\r\nContent-Length: 2\r\n\r\nok")]
#[case::empty_value("HTTP/1.1 200 OK\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nok")]
#[tokio::test]
async fn an_odd_head_does_not_hide_a_good_body(#[case] text: &str) {
    assert_eq!(ask(answer(text)).await, "200: ok");
}

#[tokio::test]
async fn bytes_outside_ascii_in_a_header_are_no_reason_to_fail() {
    let text = b"HTTP/1.1 200 OK\r\nX-Name: caf\xe9\r\nContent-Length: 2\r\n\r\nok";
    assert_eq!(ask(answer(text)).await, "200: ok");
}

#[rstest]
#[case::too_many_headers(&with_headers(300, 5), "Other: the answer cannot be read as HTTP: message head is too large")]
#[case::too_large_a_head(&with_headers(200, 1000), "Other: the answer cannot be read as HTTP: message head is too large")]
#[case::not_http("SSH-2.0-OpenSSH_9.6\r\n", "Other: the answer cannot be read as HTTP: invalid HTTP version parsed")]
#[case::http_0_9("<html>hello</html>", "Other: the answer cannot be read as HTTP: invalid HTTP version parsed")]
#[case::bad_status(
    "HTTP/1.1 banana\r\n\r\n",
    "Other: the answer cannot be read as HTTP: invalid HTTP status-code parsed"
)]
#[case::nothing("", "Connection: connection closed while waiting for the answer")]
#[case::half_a_head("HTTP/1.1 200 OK\r\nContent-Le", "Connection: connection closed while waiting for the answer")]
#[case::only_an_interim(
    "HTTP/1.1 103 Early Hints\r\n\r\n",
    "Connection: connection closed while waiting for the answer"
)]
#[tokio::test]
async fn a_head_that_cannot_be_read_says_why(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(ask(answer(text)).await, expected);
}

#[tokio::test]
async fn s103_a_reset_before_or_in_the_head_says_so() {
    let reset = "Connection: connection reset while waiting for the answer";
    assert_eq!(ask(vec![Act::Read, Act::Reset]).await, reset);
    assert_eq!(ask(vec![Act::Read, send("HTTP/1.1 200 OK\r\nContent-"), Act::Reset]).await, reset);
}

#[tokio::test]
async fn s103_a_connection_closed_without_being_read_is_a_closed_or_reset_connection() {
    // Whether the request or the close is seen first is the network's choice.
    let outcome = ask(vec![Act::Reset]).await;
    let expected = ["reset", "closed"].map(|how| format!("Connection: connection {how} while waiting for the answer"));
    assert!(expected.contains(&outcome), "{outcome}");
}
