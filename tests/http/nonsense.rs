//! Whatever a server says, a request ends with an outcome: no panic, no hang.

use std::time::Duration;

use super::server::{Act, Server, send};
use super::{client, settings};
use feedwarden::http::{HttpSettings, Request};
use proptest::prelude::*;

/// Pieces that real answers are made of, in no order, and bytes that are nothing.
fn answer() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Just(b"HTTP/1.0 304 \r\n".to_vec()),
        Just(b"HTTP/1.1 103 Hints\r\n\r\n".to_vec()),
        Just(b"HTTP/1.1 302 Found\r\n".to_vec()),
        Just(b"Location: ?\r\n".to_vec()),
        Just(b"Location: //\r\n".to_vec()),
        Just(b"Content-Length: 7\r\n".to_vec()),
        Just(b"Content-Length: 18446744073709551615\r\n".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        Just(b"Content-Encoding: gzip\r\n".to_vec()),
        Just(b"Content-Encoding: br, deflate\r\n".to_vec()),
        Just(b"Content-Encoding: zstd\r\n".to_vec()),
        Just(b"Cache-Control: max-age=,=,\"\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"5\r\nhello\r\n".to_vec()),
        Just(b"0\r\n\r\n".to_vec()),
        Just(vec![0x1f, 0x8b, 8, 0]),
        Just(vec![0x28, 0xb5, 0x2f, 0xfd]),
        proptest::collection::vec(any::<u8>(), 0..40),
    ];
    // Most answers start well, since the interesting mistakes come later.
    (any::<bool>(), proptest::collection::vec(piece, 0..12)).prop_map(|(good_start, pieces)| {
        let start: &[u8] = if good_start { b"HTTP/1.1 200 OK\r\n" } else { b"" };
        [start, &pieces.concat()].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_ends_in_an_outcome_within_the_deadline(answers in proptest::collection::vec(answer(), 1..3)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let acts = answers.into_iter().flat_map(|answer| [Act::Read, send(answer), Act::NextConnection]);
            let server = Server::play(acts.collect()).await;
            let client = client(HttpSettings { deadline: Duration::from_millis(200), ..settings() });
            let request = Request { keep_alive: true, ..Request::new(server.url("/")) };
            let outcome = tokio::time::timeout(Duration::from_secs(5), client.send(&request)).await;
            assert!(outcome.is_ok(), "the deadline passed and nothing came of it");
        });
    }
}
