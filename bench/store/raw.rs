//! The baseline: the same rows, plainly, through the bare driver: a multi-row insert a poll (known rows left to the
//! index to refuse), or an update a 304, all polls of a group in one transaction.

use feedwarden::model::{NewPost, Settlement};
use feedwarden::store::settings::EngineSettings;
use rusqlite::ToSql;
use secrecy::ExposeSecret;
use tokio_postgres::NoTls;

use crate::load::{Case, POSTS};

const COLUMNS: u64 = 16;

pub(crate) enum Raw {
    Sqlite(rusqlite::Connection),
    Postgres { client: tokio_postgres::Client, insert: tokio_postgres::Statement, update: tokio_postgres::Statement },
}

fn insert(parameter: char) -> String {
    let row = |row: u64| {
        let values = (1..=COLUMNS).map(|column| format!("{parameter}{}", row * COLUMNS + column)).collect::<Vec<_>>();
        format!("({})", values.join(", "))
    };
    format!(
        "INSERT INTO posts (source_id, title, text, url, author, published_at, created_at, content_hash, entry_key, guid, \
         html, summary, language, categories, enclosures, image_url) VALUES {} ON CONFLICT DO NOTHING",
        (0..POSTS).map(row).collect::<Vec<_>>().join(", ")
    )
}

fn update(parameter: char) -> String {
    "UPDATE sources SET version = version + 1, updated_at = @2, last_polled = @2, last_success_at = @2, etag = @3 \
     WHERE id = @1"
        .replace('@', &parameter.to_string())
}

impl Raw {
    pub(crate) async fn open(engine: &EngineSettings) -> Raw {
        match engine {
            EngineSettings::Sqlite(settings) => {
                let connection = rusqlite::Connection::open(&settings.path).unwrap();
                connection.pragma_update(None, "synchronous", "full").unwrap();
                Raw::Sqlite(connection)
            }
            EngineSettings::Postgres(settings) => {
                let client = connect(settings.url.expose_secret()).await;
                let insert = client.prepare(&insert('$')).await.unwrap();
                let update = client.prepare(&update('$')).await.unwrap();
                Raw::Postgres { client, insert, update }
            }
        }
    }

    pub(crate) async fn write(&mut self, polls: &[Settlement], case: Case) {
        match self {
            Raw::Sqlite(connection) => write_sqlite(connection, polls, case),
            Raw::Postgres { client, insert, update } => {
                let transaction = client.transaction().await.unwrap();
                for poll in polls {
                    if case.is_not_modified() {
                        let row = [&poll.source_id.0 as Parameter<'_>, &poll.settled_at, &poll.state.validators.etag];
                        transaction.execute(update, &row).await.unwrap();
                    } else {
                        let hashes: Vec<Vec<u8>> =
                            poll.posts.iter().map(|post| post.content_hash().0.to_vec()).collect();
                        let published: Vec<_> = poll.posts.iter().map(|post| post.published_at()).collect();
                        let keys: Vec<i64> = poll.posts.iter().map(|post| post.key().0).collect();
                        let lists: Vec<[String; 2]> = poll.posts.iter().map(lists).collect();
                        let mut row: Vec<Parameter<'_>> = Vec::new();
                        for (place, post) in poll.posts.iter().enumerate() {
                            let text = post.content();
                            let values: [Parameter<'_>; COLUMNS as usize] = [
                                &poll.source_id.0,
                                &text.title,
                                &text.text,
                                &text.url,
                                &text.author,
                                &published[place],
                                &poll.settled_at,
                                &hashes[place],
                                &keys[place],
                                &text.guid,
                                &text.html,
                                &text.summary,
                                &text.language,
                                &lists[place][0],
                                &lists[place][1],
                                &text.image_url,
                            ];
                            row.extend(values);
                        }
                        transaction.execute(insert, &row).await.unwrap();
                    }
                }
                transaction.commit().await.unwrap();
            }
        }
    }
}

/// Categories and enclosures as they are stored.
fn lists(post: &NewPost) -> [String; 2] {
    let text = post.content();
    [serde_json::to_string(&text.categories).unwrap(), serde_json::to_string(&text.enclosures).unwrap()]
}

type Parameter<'a> = &'a (dyn tokio_postgres::types::ToSql + Sync);

fn write_sqlite(connection: &mut rusqlite::Connection, polls: &[Settlement], case: Case) {
    let transaction = connection.transaction().unwrap();
    {
        let sql = if case.is_not_modified() { update('?') } else { insert('?') };
        let mut statement = transaction.prepare_cached(&sql).unwrap();
        for poll in polls {
            let mut row: Vec<Box<dyn ToSql + '_>> = Vec::new();
            if case.is_not_modified() {
                row.push(Box::new(poll.source_id.0));
                row.push(Box::new(poll.settled_at));
                row.push(Box::new(&poll.state.validators.etag));
            }
            for post in &poll.posts {
                let text = post.content();
                row.push(Box::new(poll.source_id.0));
                row.push(Box::new(&text.title));
                row.push(Box::new(&text.text));
                row.push(Box::new(&text.url));
                row.push(Box::new(&text.author));
                row.push(Box::new(post.published_at()));
                row.push(Box::new(poll.settled_at));
                row.push(Box::new(post.content_hash().0));
                row.push(Box::new(post.key().0));
                row.push(Box::new(&text.guid));
                row.push(Box::new(&text.html));
                row.push(Box::new(&text.summary));
                row.push(Box::new(&text.language));
                row.extend(lists(post).map(|list| Box::new(list) as Box<dyn ToSql>));
                row.push(Box::new(&text.image_url));
            }
            statement.execute(rusqlite::params_from_iter(row)).unwrap();
        }
    }
    transaction.commit().unwrap();
}

/// An empty database of that server: its URL, and the first process of the server.
pub(crate) async fn fresh_database(server: &str) -> (String, u32) {
    let client = connect(server).await;
    client.batch_execute("DROP DATABASE IF EXISTS bench WITH (FORCE)").await.unwrap();
    client.batch_execute("CREATE DATABASE bench").await.unwrap();
    let session: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    let (address, _) = server.rsplit_once('/').expect("the URL of the server ends in a database");
    (format!("{address}/bench"), crate::cost::parent_of(session))
}

pub(crate) async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
