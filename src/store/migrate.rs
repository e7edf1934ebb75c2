//! Computes the missing migrations. The engines apply them under their own locks.

use sha2::{Digest, Sha256};

use super::{Result, StoreError};

/// One migration; the list is append-only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sql: &'static str,
}

#[derive(Clone, Debug)]
pub(super) struct Applied {
    pub version: i64,
    pub checksum: String,
}

impl Migration {
    /// Detects a migration that was edited after it was applied.
    pub(super) fn checksum(&self) -> String {
        Sha256::digest(self.sql.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Missing migrations, in order.
pub(super) fn pending<'a>(known: &'a [Migration], applied: &[Applied]) -> Result<&'a [Migration]> {
    let latest = known.last().map_or(0, |migration| migration.version);
    if let Some(newest) = applied.iter().map(|step| step.version).max().filter(|version| *version > latest) {
        return Err(StoreError::Newer { found: newest, known: latest });
    }
    for (place, step) in applied.iter().enumerate() {
        let Some(migration) = known.get(place).filter(|migration| migration.version == step.version) else {
            return Err(StoreError::Unusable(format!("its schema lacks the step before version {}", step.version)));
        };
        if migration.checksum() != step.checksum {
            return Err(StoreError::Unusable(format!(
                "step {} ({}) of its schema was applied with other contents than this version of feedwarden has",
                migration.version, migration.name
            )));
        }
    }
    Ok(&known[applied.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [Migration; 3] = [
        Migration { version: 1, name: "one", sql: "CREATE one" },
        Migration { version: 2, name: "two", sql: "CREATE two" },
        Migration { version: 3, name: "three", sql: "CREATE three" },
    ];

    fn applied(versions: impl IntoIterator<Item = i64>) -> Vec<Applied> {
        let checksum = |version: i64| {
            KNOWN.iter().find(|step| step.version == version).map_or_else(|| "later".into(), Migration::checksum)
        };
        versions.into_iter().map(|version| Applied { version, checksum: checksum(version) }).collect()
    }

    #[test]
    fn what_is_missing_follows_what_is_there() {
        for done in 0..=3 {
            let missing: Vec<i64> =
                pending(&KNOWN, &applied(1..=done)).unwrap().iter().map(|step| step.version).collect();
            assert_eq!(missing, (done + 1..=3).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_newer_database_is_refused_with_both_versions() {
        let error = pending(&KNOWN, &applied(1..=5)).unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 5, known: 3 }), "{error}");
        assert!(error.to_string().contains("schema version 5") && error.to_string().contains("only 3"), "{error}");
    }

    #[test]
    fn a_step_with_other_contents_is_refused() {
        let mut steps = applied(1..=2);
        steps[1].checksum = "other".into();
        let error = pending(&KNOWN, &steps).unwrap_err();
        assert!(error.to_string().contains("step 2 (two)"), "{error}");
    }

    #[test]
    fn a_gap_is_refused() {
        let error = pending(&KNOWN, &applied([1, 3])).unwrap_err();
        assert!(error.to_string().contains("before version 3"), "{error}");
    }
}
