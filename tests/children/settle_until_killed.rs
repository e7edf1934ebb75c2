//! Settles polls of the first source, one after the other, and prints each version once it is acknowledged; for the
//! tests that kill it or let its disk run full. Arguments: a file or URL, and how many polls at the most.
#![allow(clippy::unwrap_used, reason = "a test's child: whatever fails ends it, and the test looks at what is left")]

use std::time::Duration;

use feedwarden::model::{NewPost, PostContent, Settled, Settlement, Timestamp};
use feedwarden::store;
use feedwarden::store::settings::{EngineSettings, PostgresSettings, SqliteSettings, StoreSettings, Synchronous};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (place, polls) = (arguments.next().unwrap(), arguments.next().unwrap().parse::<i64>().unwrap());
    let body_bytes = std::env::var("FEEDWARDEN_CHILD_BODY_BYTES").map_or(100, |bytes| bytes.parse().unwrap());
    let now = Timestamp::from_seconds(1_800_000_000);
    let store = store::open(&settings(&place), now).await.unwrap();
    let mut source = store.list_sources(None, 1).await.unwrap().pop().unwrap();
    // The test for a full disk wants one post a settle, the one for a kill three, which show a half-written settle.
    let posts = if body_bytes > 100 { 1 } else { 3 };
    for _ in 0..polls {
        source.state.validators.etag = Some((source.version + 1).to_string());
        let post = |number: i64| {
            let body = format!("{} {number} {}", source.version, "x".repeat(body_bytes));
            NewPost::new(PostContent { text: body, ..PostContent::default() }, None)
        };
        let settlement = Settlement { posts: (0..posts).map(post).collect(), ..Settlement::of_state(&source, now) };
        match store.settle(vec![settlement]).await {
            Ok(settled) => match settled[..] {
                [Settled::Written { version, .. }] => source.version = version,
                ref other => panic!("{other:?}"),
            },
            Err(error) => {
                eprintln!("{error}");
                std::process::exit(1);
            }
        }
        println!("{}", source.version);
    }
}

fn settings(place: &str) -> StoreSettings {
    let engine = if place.starts_with("postgres://") {
        EngineSettings::Postgres(PostgresSettings {
            pool_size: 1,
            connect_timeout: Duration::from_secs(20),
            statement_timeout: Duration::from_secs(60),
            response_timeout: Duration::from_secs(65),
            ..PostgresSettings::new(format!("{place}?application_name=settle_until_killed").into())
        })
    } else {
        EngineSettings::Sqlite(SqliteSettings {
            path: place.into(),
            synchronous: Synchronous::Full,
            readers: 1,
            busy_timeout: Duration::from_secs(20),
        })
    };
    StoreSettings { engine, encryption_key: None }
}
