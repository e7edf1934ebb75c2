//! The row of a subscription at a hub: its columns and their reader, in the same order.

use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::model::{HubOffer, NewSubscription, PushFigures, SourceId, Subscription, SubscriptionState, Timestamp};

use super::Result;
use super::cipher::{Cipher, Owner};
use super::rows::{ColumnSpec, Columns, required};
use super::source_row::read_offer;

pub(super) const SUBSCRIPTION: [ColumnSpec; 21] = [
    ("token", "text"),
    ("version", "bigint"),
    ("source_id", "bigint"),
    ("hub", "text"),
    ("topic", "text"),
    ("public_url", "text"),
    ("secret", "bytea"),
    ("is_sealed", "boolean"),
    ("state", "text"),
    ("asked_at", "timestamptz"),
    ("verified_at", "timestamptz"),
    ("lease_seconds", "bigint"),
    ("next_attempt_at", "timestamptz"),
    ("attempts", "bigint"),
    ("last_error", "text"),
    ("created_at", "timestamptz"),
    ("pushes", "bigint"),
    ("rejected", "bigint"),
    ("useful", "bigint"),
    ("missed", "bigint"),
    ("last_push_at", "timestamptz"),
];

/// A secret as it is stored, and whether it is sealed.
pub(super) struct KeptSecret(pub(super) Vec<u8>, pub(super) bool);

impl KeptSecret {
    /// Sealed if the store has a key.
    pub(super) fn of(new: &NewSubscription, cipher: &Cipher) -> Result<KeptSecret> {
        match cipher.has_key() {
            true => Ok(KeptSecret(cipher.seal(Owner::Subscription(&new.token), &new.secret)?, true)),
            false => Ok(KeptSecret(new.secret.expose_secret().as_bytes().to_vec(), false)),
        }
    }

    /// None if no key opens it.
    fn open(self, token: &str, cipher: &Cipher) -> Option<SecretString> {
        let KeptSecret(bytes, is_sealed) = self;
        match is_sealed {
            true => cipher.open(Owner::Subscription(token), &bytes).ok(),
            false => String::from_utf8(bytes).ok().map(SecretString::from),
        }
    }
}

/// A subscription whose secret is not open yet.
pub(super) struct SubscriptionRow(Subscription, KeptSecret);

impl SubscriptionRow {
    pub(super) fn open(self, cipher: &Cipher) -> Subscription {
        let SubscriptionRow(mut subscription, secret) = self;
        subscription.secret = secret.open(&subscription.token, cipher);
        subscription
    }
}

pub(super) fn read_subscription(row: &mut impl Columns) -> Result<SubscriptionRow> {
    read_columns(row).map_err(|error| error.of_table("websub_subscriptions"))
}

fn read_columns(row: &mut impl Columns) -> Result<SubscriptionRow> {
    let (token, version) = (required(row.text()?)?, required(row.integer()?)?);
    let source_id = SourceId(required(row.integer()?)?);
    let (hub, topic, public_url) = (required(row.text()?)?, required(row.text()?)?, required(row.text()?)?);
    let secret = KeptSecret(row.bytes()?, row.flag()?);
    let state = required(row.parsed()?)?;
    let (asked_at, verified_at) = (row.time()?, row.time()?);
    let lease = row.number::<u32>()?.map(|seconds| Duration::from_secs(seconds.into()));
    let (next_attempt_at, attempts) = (required(row.time()?)?, required(row.number()?)?);
    let (last_error, created_at) = (row.text()?, required(row.time()?)?);
    let figures = PushFigures {
        pushes: required(row.number()?)?,
        rejected: required(row.number()?)?,
        useful: required(row.number()?)?,
        missed: required(row.number()?)?,
        last_push_at: row.time()?,
    };
    let subscription = Subscription {
        token,
        version,
        source_id,
        hub,
        topic,
        public_url,
        secret: None,
        state,
        asked_at,
        verified_at,
        lease,
        next_attempt_at,
        attempts,
        last_error,
        created_at,
        figures,
    };
    Ok(SubscriptionRow(subscription, secret))
}

pub(super) fn read_to_subscribe(row: &mut impl Columns) -> Result<(SourceId, HubOffer)> {
    let id = SourceId(required(row.integer()?)?);
    let (hubs, topic) = (required(row.text()?)?, required(row.text()?)?);
    Ok((id, read_offer(&hubs, topic)))
}

/// None for a state that this version does not know.
pub(super) fn read_state_count(row: &mut impl Columns) -> Result<Option<(SubscriptionState, u64)>> {
    let (name, count) = (row.text()?.unwrap_or_default(), required(row.number()?)?);
    Ok(name.parse().ok().map(|state| (state, count)))
}

pub(super) fn read_next_at(row: &mut impl Columns) -> Result<Option<Timestamp>> {
    row.time()
}

/// The seconds of a lease, as they are stored.
pub(super) fn lease_seconds(subscription: &Subscription) -> Option<i64> {
    subscription.lease.map(|lease| i64::try_from(lease.as_secs()).unwrap_or(i64::MAX))
}
