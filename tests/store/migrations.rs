//! The schema: from empty, from every earlier version, never from a later one, and by one node at a time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::engine::{raw, raw_text};
use super::*;
use feedwarden::model::{ContentHash, Cutoffs, Timestamp};
use feedwarden::rules::identity;
use feedwarden::store::{self, StoreError, statement};
use rstest::rstest;
use sha2::{Digest, Sha256};
use tempfile::tempdir;

/// The files of an engine's schema, oldest first.
fn steps(engine: Engine) -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sql").join(engine.name()).join("migrations");
    let mut files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

/// The version that a step brings the schema to.
fn step_number(file: &std::path::Path) -> i64 {
    file.file_name().unwrap().to_str().unwrap().split('_').next().unwrap().parse().unwrap()
}

/// What the first step leaves behind, as an early user would have it.
const EARLY_DATA: &str = "
    INSERT INTO users (name, created_at) VALUES ('ada', {time});
    INSERT INTO sources (version, created_at, updated_at, type, url, consecutive_failures, etag)
    VALUES (4, {time}, {time}, 'rss', 'http://early.example/', 3, '\"early\"');";

/// A database that an earlier version brought to the given step and used.
async fn earlier(engine: Engine, settings: &store::settings::StoreSettings, version: usize) {
    let time = if engine == Sqlite { "1800000000000000" } else { "to_timestamp(1800000000)" };
    let (number, moment) = if engine == Sqlite { ("INTEGER", "INTEGER") } else { ("bigint", "timestamptz") };
    raw(settings, &format!("CREATE TABLE schema_migrations (version {number} PRIMARY KEY, name TEXT, checksum TEXT, applied_at {moment})")).await;
    for file in steps(engine).iter().take(version) {
        let sql = std::fs::read_to_string(file).unwrap();
        raw(settings, &sql).await;
        let checksum: String = Sha256::digest(sql.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let number = step_number(file);
        let row = format!("INSERT INTO schema_migrations VALUES ({number}, 'step', '{checksum}', {time})");
        raw(settings, &row).await;
    }
    if version > 0 {
        raw(settings, &EARLY_DATA.replace("{time}", time)).await;
    }
}

#[rstest]
#[tokio::test]
async fn an_empty_database_gets_every_step_once(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    let count = steps(engine).len();
    assert_eq!(store.about().engine, engine.name());
    assert_eq!(store.about().schema_version, step_number(steps(engine).last().unwrap()));
    store.another().await;
    let applied = store.raw_text("SELECT count(*) FROM schema_migrations").await;
    assert_eq!(applied, Some(count.to_string()));
}

#[rstest]
#[tokio::test]
async fn every_earlier_version_is_brought_up_to_date_with_its_data(#[values(Sqlite, Postgres)] engine: Engine) {
    for version in 1..=steps(engine).len() {
        let directory = tempdir().unwrap();
        let settings = engine.settings(&directory).await;
        earlier(engine, &settings, version).await;
        let store = store::open(&settings, at(NOW)).await.unwrap();
        let source = store.list_sources(None, 10).await.unwrap().pop().unwrap();
        assert_eq!((source.settings.url.as_str(), source.version), ("http://early.example/", 4), "from {version}");
        assert_eq!((source.state.failures.consecutive, source.created_at), (3, at(NOW)));
        assert_eq!(source.state.validators.etag.as_deref(), Some("\"early\""));
        let settled = store.settle(vec![found(&source, vec![post("new")])]).await.unwrap();
        assert!(matches!(settled[..], [Settled::Written { version: 5, .. }]), "{settled:?}");
    }
}

/// The step before the ages of pages, with a page's post that is dated long before it was stored.
#[rstest]
#[tokio::test]
async fn s704_posts_of_pages_that_were_there_count_from_when_they_were_stored(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let is_before = |file: &PathBuf| !file.to_string_lossy().contains("page_ages");
    let before = steps(engine).iter().take_while(|file| is_before(file)).count();
    let directory = tempdir().unwrap();
    let settings = engine.settings(&directory).await;
    earlier(engine, &settings, before).await;
    let (time, old, hash) = match engine {
        Sqlite => ("1800000000000000", "1700000000000000", "zeroblob(32)"),
        Postgres => ("to_timestamp(1800000000)", "to_timestamp(1700000000)", "sha256('page')"),
    };
    for kind in ["website", "rss"] {
        let source = format!(
            "INSERT INTO sources (version, created_at, updated_at, type, url)
             VALUES (1, {time}, {time}, '{kind}', 'http://{kind}.example/')"
        );
        raw(&settings, &source).await;
        let post = format!(
            "INSERT INTO posts (source_id, title, body, published_at, created_at, content_hash)
             SELECT id, 'Title', '{kind}', {old}, {time}, {hash} FROM sources WHERE url = 'http://{kind}.example/'"
        );
        raw(&settings, &post).await;
    }
    let store = store::open(&settings, at(NOW)).await.unwrap();
    let cutoff = at(NOW - 7 * 86_400);
    let cutoffs = Cutoffs {
        now: at(NOW),
        articles_before: cutoff,
        posts_before: cutoff,
        hashes_before: cutoff,
        robots_before: cutoff,
        audit_before: Timestamp::MIN,
        audit_records_max: 1000,
        events_before: Timestamp::MIN,
        events_max: 1000,
    };
    assert_eq!(store.clean(cutoffs, 100).await.unwrap().posts, 1);
    let left = store.list_posts(None, None, 10).await.unwrap();
    assert_eq!(left.iter().map(|post| post.content.text.as_str()).collect::<Vec<_>>(), ["website"]);
}

/// A database of the version before entries had keys: its posts stay, and the first poll afterwards neither doubles nor
/// loses anything, whether entries are unchanged, edited, new, or known by their content alone.
#[rstest]
#[tokio::test]
async fn s801_s904_posts_without_keys_are_recognised_by_the_first_poll_after_the_upgrade(
    #[values(Sqlite, Postgres)] engine: Engine,
) {
    let is_before = |file: &PathBuf| !file.to_string_lossy().contains("0015_entries");
    let before = steps(engine).iter().take_while(|file| is_before(file)).count();
    assert!(before < steps(engine).len());
    let directory = tempdir().unwrap();
    let settings = engine.settings(&directory).await;
    earlier(engine, &settings, before).await;
    let time = match engine {
        Sqlite => "1800000000000000",
        Postgres => "to_timestamp(1800000000)",
    };
    let hash = |body: &str| match engine {
        Sqlite => format!("X'{}'", ContentHash::of(body)),
        Postgres => format!("'\\x{}'", ContentHash::of(body)),
    };
    for (body, url) in
        [("unchanged", "1"), ("before its edit", "2"), ("moved", "3"), ("version 1", "4"), ("version 2", "4")]
    {
        let post = format!(
            "INSERT INTO posts (source_id, title, body, url, published_at, created_at, content_hash)
             SELECT id, 'Title', '{body}', 'http://early.example/{url}', {time}, {time}, {} FROM sources",
            hash(body)
        );
        raw(&settings, &post).await;
    }
    let removed = format!(
        "INSERT INTO cleaned_posts (source_id, content_hash, last_seen_at) SELECT id, {}, {time} FROM sources",
        hash("removed")
    );
    raw(&settings, &removed).await;

    let store = store::open(&settings, at(NOW)).await.unwrap();
    let source = store.list_sources(None, 10).await.unwrap().pop().unwrap();
    let entry = |id: &str, url: &str, body: &str| {
        let content = PostContent {
            guid: Some(id.into()),
            url: Some(format!("https://early.example/{url}")),
            text: body.into(),
            ..PostContent::default()
        };
        NewPost::new(content, Some(at(NOW)))
    };
    let entries = [
        entry("a", "1", "unchanged"),
        entry("b", "2", "after its edit"),
        entry("c", "elsewhere", "moved"),
        entry("d", "4", "version 2"),
        entry("e", "5", "removed"),
        entry("f", "6", "new"),
    ];
    let posts: Vec<NewPost> =
        identity::keys(&entries).into_iter().zip(entries).map(|(key, post)| post.with_key(key)).collect();
    let mut source = source;
    source.state.last_read_at = Some(at(NOW - 60));
    for expected in ["1 new, 1 updated, 4 known", "0 new, 6 known"] {
        let query = posts.iter().map(|post| (post.key(), post.content_hash())).collect();
        let query = EntryQuery { source_id: source.id, entries: query };
        let known = store.known_entries(vec![query]).await.unwrap().pop().unwrap();
        let now = at(NOW) + minutes(9);
        let decision = reading::decide(&source, Watermark::Published, &posts, &known, &Policy::default(), now, now);
        assert_eq!(decision.counts.to_string(), format!("6 entries: {expected}"));
        let settlement = Settlement {
            posts: decision.posts,
            edits: decision.edits,
            renamed: decision.renamed,
            still_seen: decision.still_seen,
            ..Settlement::of_state(&source, at(NOW) + minutes(9))
        };
        let settled = store.settle(vec![settlement]).await.unwrap().pop().unwrap();
        let Settled::Written { version, .. } = settled else { panic!("{settled:?}") };
        source.version = version;
    }
    let stored = store.list_posts(None, None, 100).await.unwrap();
    let mut bodies: Vec<String> = stored.into_iter().map(|post| post.content.text).collect();
    bodies.sort();
    assert_eq!(bodies, ["after its edit", "moved", "new", "unchanged", "version 1", "version 2"]);
}

#[rstest]
#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_and_left_alone(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.raw("UPDATE schema_migrations SET version = 1000 WHERE version = 1").await;
    store.close().await;
    let error = store::open(&store.settings, at(NOW)).await.map(|_| ()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 1000, .. }), "{error}");
    assert!(error.to_string().contains("used by a newer feedwarden"), "{error}");
}

#[rstest]
#[tokio::test]
async fn a_step_that_was_edited_after_it_was_applied_is_refused(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    store.raw("UPDATE schema_migrations SET checksum = 'other' WHERE version = 2").await;
    let error = store::open(&store.settings, at(NOW)).await.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("step 2 (articles_and_cleanup)"), "{error}");
}

#[rstest]
#[tokio::test]
async fn a_step_that_fails_leaves_the_database_as_it_was(#[values(Sqlite, Postgres)] engine: Engine) {
    let directory = tempdir().unwrap();
    let settings = engine.settings(&directory).await;
    earlier(engine, &settings, 1).await;
    raw(&settings, "CREATE TABLE hosts (in_the_way TEXT)").await;
    let error = store::open(&settings, at(NOW)).await.map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("step 3 failed") && error.contains("hosts"), "{error}");
    assert_eq!(raw_text(&settings, "SELECT count(*) FROM schema_migrations").await.as_deref(), Some("1"));
    raw(&settings, "DROP TABLE hosts").await;
    assert_eq!(store::open(&settings, at(NOW)).await.unwrap().list_sources(None, 9).await.unwrap().len(), 1);
}

#[rstest]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_start_together_take_turns(#[values(Sqlite, Postgres)] engine: Engine) {
    let directory = tempdir().unwrap();
    let settings = engine.settings(&directory).await;
    let starts = (0..8).map(|_| {
        let settings = settings.clone();
        tokio::spawn(async move { store::open(&settings, at(NOW)).await.map(|_| ()) })
    });
    for start in starts.collect::<Vec<_>>() {
        start.await.unwrap().unwrap();
    }
    let applied = raw_text(&settings, "SELECT count(*) FROM schema_migrations").await;
    assert_eq!(applied, Some(steps(engine).len().to_string()));
}

/// The statements of an engine by name.
fn statements(directory: &str) -> Vec<(String, String)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sql").join(directory);
    let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file());
    let mut found: Vec<_> = files
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(&path).unwrap()))
        .collect();
    found.sort();
    found
}

fn names(directory: &str) -> Vec<String> {
    statements(directory).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn both_engines_have_the_same_statements() {
    // SQLite has one writer, so it needs no lock; and it has no nodes, no server and no privileges.
    let of_postgres = &[
        "begin_timeline.sql",
        "clean_fleet.sql",
        "count_live_nodes.sql",
        "end_nodes.sql",
        "expire_nodes.sql",
        "fence.sql",
        "fleet_facts.sql",
        "join_fleet.sql",
        "leave_fleet.sql",
        "list_nodes.sql",
        "lock_claimed_sources.sql",
        "lock_fleet.sql",
        "lock_free_sources.sql",
        "lock_sources.sql",
        "locked_hosts.sql",
        "namesakes.sql",
        "note_timeline.sql",
        "put_key_check.sql",
        "put_lease.sql",
        "record_late_hosts.sql",
        "release_shards.sql",
        "renew_node.sql",
        "send_messages.sql",
        "server.sql",
        "sources_in_slots.sql",
        "table_identity.sql",
        "take_messages.sql",
        "take_shards.sql",
        "tell_source_owners.sql",
    ];
    // It looks entries up one by one, keeps their revisions one by one, and has no sequences.
    let of_sqlite = &[
        "begin_numbers.sql",
        "drop_revisions.sql",
        "keep_revision.sql",
        "known_any.sql",
        "known_content_exists.sql",
        "known_unchanged.sql",
        "next_post_number.sql",
    ];
    let without = |engine, alone: &'static [&'static str]| {
        names(engine).into_iter().filter(move |name| !alone.contains(&name.as_str()))
    };
    assert!(without("sqlite", of_sqlite).eq(without("postgres", of_postgres)));
    let shared = names("shared");
    assert!(names("postgres").iter().all(|name| !shared.contains(name)), "a shared statement stands alone as well");
    let steps = |engine| steps(engine).iter().map(|path| path.file_name().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(steps(Sqlite), steps(Postgres));
}

#[test]
fn a_statement_that_is_the_same_on_both_engines_is_shared() {
    let sqlite: BTreeMap<_, _> = statements("sqlite").into_iter().collect();
    for (name, postgres) in statements("postgres") {
        assert_ne!(sqlite.get(&name), Some(&postgres), "{name} belongs in sql/shared/");
    }
}

/// The text of all source files in a directory.
fn code(directory: &str) -> String {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/store").join(directory);
    let files = std::fs::read_dir(directory).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file());
    files.map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn every_statement_is_used() {
    for engine in ["sqlite", "postgres"] {
        let code = code(engine);
        for name in names(engine) {
            assert!(code.contains(&format!("sql/{engine}/{name}\"")), "{name} of {engine} is dead");
        }
        for name in names("shared") {
            let constant = name.trim_end_matches(".sql").to_uppercase();
            assert!(
                code.contains(&format!("sql::{constant},")) || code.contains(&format!("sql::{constant})")),
                "{name} is dead in {engine}"
            );
        }
    }
    let code = code("");
    assert!(names("shared").iter().all(|name| code.contains(&format!("sql/shared/{name}\""))));
}

/// A parameter used with two types, a misspelt column, a missing table: each shows when the statement is prepared.
#[rstest]
#[tokio::test]
async fn every_statement_fits_the_schema(#[values(Sqlite, Postgres)] engine: Engine) {
    let store = engine.store().await;
    for (name, sql) in statements("shared").into_iter().chain(statements(engine.name())) {
        match &store.settings.engine {
            store::settings::EngineSettings::Sqlite(settings) => {
                let connection = rusqlite::Connection::open(&settings.path).unwrap();
                connection
                    .prepare(&statement::for_sqlite(&sql))
                    .map(|_| ())
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            store::settings::EngineSettings::Postgres(settings) => {
                let client = connect(&settings.url).await;
                client
                    .prepare(&statement::for_postgres(&sql))
                    .await
                    .map(|_| ())
                    .unwrap_or_else(|error| panic!("{name}: {error:?}"));
            }
        }
    }
}
