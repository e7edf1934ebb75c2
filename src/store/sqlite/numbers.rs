//! Numbers of posts in SQLite. A small file beside the database has the highest number that may have been issued: a
//! copy of the database that is put back does not know it.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rusqlite::{Connection, params};

use crate::model::Timestamp;

use super::super::numbers::{NumberFacts, NumberJump, RESERVE, jump};
use super::super::rows::{Columns, required};
use super::super::shared_sql as sql;
use super::super::statement::Statement;
use super::super::{Result, StoreError};
use super::values::{error, execute, number, one};

static ISSUED: Statement = Statement::new(include_str!("../../../sql/sqlite/issued_number.sql"));
pub(super) static BEGIN: Statement = Statement::new(include_str!("../../../sql/sqlite/begin_numbers.sql"));
static SKIP: Statement = Statement::new(include_str!("../../../sql/sqlite/skip_numbers.sql"));
static NEW_IDENTITY: Statement = Statement::new(include_str!("../../../sql/sqlite/identity.sql"));

/// Largest file that is read.
const FILE_BYTES_MAX: u64 = 1024;

/// The file with the highest number that may have been issued.
pub(super) struct NumberFile {
    path: PathBuf,
    /// None until [`resume`]: only the daemon reserves numbers.
    mark: Mutex<Option<NumberMark>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct NumberMark {
    identity: String,
    number: i64,
    is_closed: bool,
}

impl NumberFile {
    pub(super) fn beside(database: &Path) -> NumberFile {
        let mut path = database.to_owned().into_os_string();
        path.push(".numbers");
        NumberFile { path: PathBuf::from(path), mark: Mutex::default() }
    }

    /// To be called before a commit that has issued numbers: what readers can see is below the mark.
    pub(super) fn cover(&self, connection: &Connection) -> Result<()> {
        let mut mark = self.mark.lock();
        let Some(known) = mark.as_ref() else { return Ok(()) };
        let issued = issued(connection)?;
        if issued > known.number {
            let next = NumberMark { number: issued + RESERVE, ..known.clone() };
            self.write(&next)?;
            *mark = Some(next);
        }
        Ok(())
    }

    /// Notes that no number above the last one was issued.
    pub(super) fn close(&self, connection: &Connection) -> Result<()> {
        let mut mark = self.mark.lock();
        if let Some(known) = mark.take() {
            self.write(&NumberMark { number: issued(connection)?, is_closed: true, ..known })?;
        }
        Ok(())
    }

    fn write(&self, mark: &NumberMark) -> Result<()> {
        let write = || -> io::Result<()> {
            let mut new = self.path.clone().into_os_string();
            new.push(".new");
            let mut file = File::create(&new)?;
            let state = if mark.is_closed { "closed" } else { "open" };
            writeln!(file, "{} {} {state}", mark.identity, mark.number)?;
            file.sync_all()?;
            std::fs::rename(&new, &self.path)
        };
        write().map_err(|error| StoreError::Unavailable(format!("{}: {error}", self.path.display())))
    }

    /// None if there is none, or none that makes sense.
    fn read(&self) -> Option<NumberMark> {
        let mut text = String::new();
        io::Read::read_to_string(&mut io::Read::take(File::open(&self.path).ok()?, FILE_BYTES_MAX), &mut text).ok()?;
        let mut words = text.split_ascii_whitespace();
        let (identity, number) = (words.next()?.to_owned(), words.next()?.parse().ok()?);
        Some(NumberMark { identity, number, is_closed: words.next() == Some("closed") })
    }
}

/// Skips numbers that may have been issued before, and reserves the next ones.
pub(super) fn resume(connection: &mut Connection, file: &NumberFile, now: Timestamp) -> Result<Option<NumberJump>> {
    let transaction = connection.transaction().map_err(error)?;
    let known =
        one(&transaction, &sql::STORE_IDENTITY, [], |row| Ok((row.text()?, row.time()?.is_some(), row.time()?)))?;
    let (identity, is_backup, last_polled) = required(known)?;
    let mark = file.read();
    let facts = NumberFacts {
        issued: issued(&transaction)?,
        is_identified: identity.is_some(),
        is_here: identity.is_some() && identity == mark.as_ref().map(|mark| mark.identity.clone()),
        is_backup,
        mark: mark.as_ref().map(|mark| (mark.number, mark.is_closed)),
        last_polled,
    };
    let jump = jump(facts, now);
    // What is restored is another store from now on: the one that it is a copy of may go on elsewhere.
    let kept = identity.filter(|_| facts.is_here && !is_backup);
    let identity = match kept {
        Some(identity) => identity,
        None => required(one(&transaction, &NEW_IDENTITY, [], |row| required(row.text()?))?)?,
    };
    if let Some(jump) = &jump {
        execute(&transaction, &BEGIN, [])?;
        execute(&transaction, &SKIP, [jump.to])?;
    }
    execute(&transaction, &sql::PUT_STORE_IDENTITY, params![identity])?;
    let number = jump.map_or(facts.issued, |jump| jump.to) + RESERVE;
    let mark = NumberMark { identity, number, is_closed: false };
    file.write(&mark)?;
    transaction.commit().map_err(error)?;
    *file.mark.lock() = Some(mark);
    Ok(jump)
}

pub(super) fn issued(connection: &Connection) -> Result<i64> {
    required(one(connection, &ISSUED, [], number)?)
}
