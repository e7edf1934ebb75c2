//! Posts, plainly, through the bare driver: a multi-row insert a feed, all feeds of a group in one transaction. As in
//! the store bench, but feeds differ in how many posts they have.

use std::collections::HashMap;

use feedwarden::model::Settlement;
use feedwarden::store::settings::EngineSettings;
use rusqlite::ToSql;
use secrecy::ExposeSecret;
use tokio_postgres::NoTls;

const COLUMNS: usize = 9;

pub(crate) enum Raw {
    Sqlite { connection: rusqlite::Connection, statements: HashMap<usize, String> },
    Postgres { client: tokio_postgres::Client, statements: HashMap<usize, tokio_postgres::Statement> },
}

impl Raw {
    pub(crate) async fn open(engine: &EngineSettings) -> Raw {
        match engine {
            EngineSettings::Sqlite(settings) => {
                let connection = rusqlite::Connection::open(&settings.path).unwrap();
                connection.pragma_update(None, "synchronous", "full").unwrap();
                connection.set_prepared_statement_cache_capacity(100);
                Raw::Sqlite { connection, statements: HashMap::new() }
            }
            EngineSettings::Postgres(settings) => {
                let client = connect(settings.url.expose_secret()).await;
                Raw::Postgres { client, statements: HashMap::new() }
            }
        }
    }

    /// Prepares a statement for every number of posts that there is.
    pub(crate) async fn prepare(&mut self, polls: &[Settlement]) {
        for rows in polls.iter().map(|poll| poll.posts.len()) {
            match self {
                Raw::Sqlite { connection, statements } => {
                    let sql = statements.entry(rows).or_insert_with(|| insert('?', rows));
                    drop(connection.prepare_cached(sql).unwrap());
                }
                Raw::Postgres { client, statements } => {
                    if let std::collections::hash_map::Entry::Vacant(place) = statements.entry(rows) {
                        place.insert(client.prepare(&insert('$', rows)).await.unwrap());
                    }
                }
            }
        }
    }

    pub(crate) async fn write(&mut self, polls: &[Settlement]) {
        match self {
            Raw::Sqlite { connection, statements } => write_sqlite(connection, statements, polls),
            Raw::Postgres { client, statements } => {
                let transaction = client.transaction().await.unwrap();
                for poll in polls {
                    write_postgres(&transaction, &statements[&poll.posts.len()], poll).await;
                }
                transaction.commit().await.unwrap();
            }
        }
    }
}

fn insert(parameter: char, rows: usize) -> String {
    let row = |row: usize| {
        let values = (1..=COLUMNS).map(|column| format!("{parameter}{}", row * COLUMNS + column)).collect::<Vec<_>>();
        format!("({})", values.join(", "))
    };
    format!(
        "INSERT INTO posts (source_id, title, text, url, author, published_at, created_at, content_hash, entry_key) \
         VALUES {} ON CONFLICT DO NOTHING",
        (0..rows).map(row).collect::<Vec<_>>().join(", ")
    )
}

async fn write_postgres(
    transaction: &tokio_postgres::Transaction<'_>,
    statement: &tokio_postgres::Statement,
    poll: &Settlement,
) {
    type Parameter<'a> = &'a (dyn tokio_postgres::types::ToSql + Sync);
    let hashes: Vec<Vec<u8>> = poll.posts.iter().map(|post| post.content_hash().0.to_vec()).collect();
    let published: Vec<_> = poll.posts.iter().map(|post| post.published_at()).collect();
    let keys: Vec<i64> = poll.posts.iter().map(|post| post.key().0).collect();
    let mut row: Vec<Parameter<'_>> = Vec::new();
    for (post, (hash, (published, key))) in poll.posts.iter().zip(hashes.iter().zip(published.iter().zip(&keys))) {
        let text = post.content();
        let values: [Parameter<'_>; COLUMNS] = [
            &poll.source_id.0,
            &text.title,
            &text.text,
            &text.url,
            &text.author,
            published,
            &poll.settled_at,
            hash,
            key,
        ];
        row.extend(values);
    }
    transaction.execute(statement, &row).await.unwrap();
}

fn write_sqlite(connection: &mut rusqlite::Connection, statements: &HashMap<usize, String>, polls: &[Settlement]) {
    let transaction = connection.transaction().unwrap();
    for poll in polls {
        let mut statement = transaction.prepare_cached(&statements[&poll.posts.len()]).unwrap();
        let mut row: Vec<Box<dyn ToSql + '_>> = Vec::new();
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
        }
        statement.execute(rusqlite::params_from_iter(row)).unwrap();
    }
    transaction.commit().unwrap();
}

/// An empty database of that server: its URL, and the server's first process.
pub(crate) async fn fresh_database(server: &str) -> (String, u32) {
    let client = connect(server).await;
    client.batch_execute("DROP DATABASE IF EXISTS bench").await.unwrap();
    client.batch_execute("CREATE DATABASE bench").await.unwrap();
    let session: i32 = client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
    let (address, _) = server.rsplit_once('/').expect("the URL of the server ends in a database");
    (format!("{address}/bench"), crate::cost::parent_of(session))
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
