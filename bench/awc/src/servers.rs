//! The servers of `tests/http/bodies.rs` and `tests/http/heads.rs`, and what a client should make of them.

use Wanted::{Body, Error};

pub(crate) struct Server {
    pub(crate) name: &'static str,
    /// The bytes it sends before it closes the connection.
    pub(crate) answer: Vec<u8>,
    pub(crate) wanted: Wanted,
}

/// What a client should make of it.
pub(crate) enum Wanted {
    /// 200 with this body.
    Body(&'static str),
    /// A body that is cut off or cannot be framed is never taken for whole.
    Error,
}

impl Server {
    fn new(name: &'static str, answer: impl Into<Vec<u8>>, wanted: Wanted) -> Server {
        Server { name, answer: answer.into(), wanted }
    }
}

fn with_headers(count: usize, value_bytes: usize) -> String {
    let lines: String = (0..count).map(|number| format!("X-{number}: {}\r\n", "v".repeat(value_bytes))).collect();
    format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: 2\r\n\r\nok")
}

/// Every server of the two tables.
pub(crate) fn servers() -> Vec<Server> {
    vec![
        Server::new("length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", Body("hello")),
        Server::new("length_zero", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", Body("")),
        Server::new("length_then_junk", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more", Body("hello")),
        Server::new("no_length", "HTTP/1.1 200 OK\r\n\r\nuntil the end", Body("until the end")),
        Server::new("http_1_0", "HTTP/1.0 200 OK\r\n\r\nuntil the end", Body("until the end")),
        Server::new("http_1_0_length", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", Body("hello")),
        Server::new(
            "equal_lengths",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
            Body("hello"),
        ),
        Server::new("equal_lengths_in_one_line", "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello", Body("hello")),
        Server::new(
            "chunked",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            Body("hello"),
        ),
        Server::new(
            "chunked_with_extension",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;name=value\r\nhello\r\n0\r\n\r\n",
            Body("hello"),
        ),
        Server::new(
            "chunked_with_trailers",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
            Body("hello"),
        ),
        Server::new(
            "chunked_and_length",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            Body("hello"),
        ),
        Server::new("length_cut", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", Error),
        Server::new("length_cut_at_once", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n", Error),
        Server::new("http_1_0_length_cut", "HTTP/1.0 200 OK\r\nContent-Length: 50\r\n\r\nhello", Error),
        Server::new("chunk_cut", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", Error),
        Server::new("last_chunk_missing", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", Error),
        Server::new(
            "last_line_missing",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
            Error,
        ),
        Server::new(
            "chunk_size_junk",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n0\r\n\r\n",
            Error,
        ),
        Server::new(
            "chunk_size_overflow",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello",
            Error,
        ),
        Server::new(
            "different_lengths",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
            Error,
        ),
        Server::new("negative_length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello", Error),
        Server::new(
            "interim_100",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            Body("ok"),
        ),
        Server::new(
            "interim_103",
            "HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            Body("ok"),
        ),
        Server::new(
            "interim_several",
            "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            Body("ok"),
        ),
        Server::new("a_hundred_headers", with_headers(100, 5), Body("ok")),
        Server::new("two_hundred_headers", with_headers(200, 5), Body("ok")),
        Server::new("sixty_four_kilobytes", with_headers(64, 1000), Body("ok")),
        Server::new("one_long_header", with_headers(1, 60_000), Body("ok")),
        Server::new("no_reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", Body("ok")),
        Server::new("strange_reason", "HTTP/1.1 200 H\u{e4}rlig!\r\nContent-Length: 2\r\n\r\nok", Body("ok")),
        Server::new("line_feeds_only", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", Body("ok")),
        Server::new("empty_lines_first", "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Body("ok")),
        Server::new("space_before_colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok", Body("ok")),
        Server::new(
            "folded_header",
            "HTTP/1.1 200 OK\r\nX-Long: one\r\n two\r\nContent-Length: 2\r\n\r\nok",
            Body("ok"),
        ),
        Server::new(
            "line_without_colon",
            "HTTP/1.1 200 OK\r\nthis is not a header\r\nContent-Length: 2\r\n\r\nok",
            Body("ok"),
        ),
        Server::new("name_with_junk", "HTTP/1.1 200 OK\r\nX Y(z): 1\r\nContent-Length: 2\r\n\r\nok", Body("ok")),
        Server::new("empty_name", "HTTP/1.1 200 OK\r\n: nothing\r\nContent-Length: 2\r\n\r\nok", Body("ok")),
        Server::new("empty_value", "HTTP/1.1 200 OK\r\nX-Empty:\r\nContent-Length: 2\r\n\r\nok", Body("ok")),
        Server::new("too_many_headers", with_headers(300, 5), Error),
        Server::new("too_large_a_head", with_headers(200, 1000), Error),
        Server::new("not_http", "SSH-2.0-OpenSSH_9.6\r\n", Error),
        Server::new("http_0_9", "<html>hello</html>", Error),
        Server::new("bad_status", "HTTP/1.1 banana\r\n\r\n", Error),
        Server::new("nothing", "", Error),
        Server::new("half_a_head", "HTTP/1.1 200 OK\r\nContent-Le", Error),
        Server::new("only_an_interim", "HTTP/1.1 103 Early Hints\r\n\r\n", Error),
    ]
}
