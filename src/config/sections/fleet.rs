//! `fleet.*`.

use super::super::effective::Effective;
use super::super::kind::KeyKind;
use super::super::schema::SchemaKey;
use crate::actors::FleetSettings;

pub(super) const KEYS: &[SchemaKey] = &[
    SchemaKey::new("fleet.name", KeyKind::Words, "the name of this node"),
    SchemaKey::count("fleet.lease-seconds", 3, 3_600, "seconds after which a node without a renewal has ended"),
];

pub(in crate::config) fn fleet(values: &Effective) -> FleetSettings {
    let name = values.text("fleet.name").trim();
    FleetSettings { name: (!name.is_empty()).then(|| name.to_owned()), lease: values.seconds("fleet.lease-seconds") }
}
