//! A process killed at any moment leaves both or neither of a transaction's effects.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;
use feedwarden::store::settings::EngineSettings;
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn a_killed_process_leaves_whole_settles_only(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let source = store.add(rss("http://a.example/")).await;
    let place = match &store.settings.engine {
        EngineSettings::Sqlite(settings) => settings.path.to_str().unwrap().to_owned(),
        EngineSettings::Postgres(settings) => secrecy::ExposeSecret::expose_secret(&settings.url).to_owned(),
    };
    let mut acknowledged_in_all = 0;
    for kill_after in [1, 2, 3, 5, 8, 13] {
        let mut process = Command::new(crate::child("settle_until_killed"))
            .arg(&place)
            .arg("1000000")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let versions: Vec<i64> = lines.take(kill_after).map(|line| line.unwrap().parse().unwrap()).collect();
        process.kill().unwrap();
        process.wait().unwrap();
        let acknowledged = *versions.last().unwrap();
        acknowledged_in_all += versions.len();
        // A server may still be finishing what the dead client sent last: wait until its session is over.
        if engine == Postgres {
            let sessions = "SELECT count(*) FROM pg_stat_activity \
                            WHERE application_name = 'settle_until_killed' AND datname = current_database()";
            while store.raw_text(sessions).await.as_deref() != Some("0") {
                tokio::task::yield_now().await;
            }
        }
        let after = store.source(source.id).await.unwrap().unwrap();
        let bodies = store.bodies(source.id).await;
        assert!(after.version >= acknowledged, "what was acknowledged is there");
        // Every settle of the child writes three posts and the number of its version as the validator.
        assert_eq!(i64::try_from(bodies.len()).unwrap(), 3 * (after.version - 1), "both or neither");
        assert_eq!(after.state.validators.etag, Some(after.version.to_string()));
    }
    assert_eq!(acknowledged_in_all, 32);
}
