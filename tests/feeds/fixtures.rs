//! One snapshot per fixture. A file `x.content-type` beside a fixture `x.xml` holds the HTTP header it came with.

use std::fs;
use std::path::{Path, PathBuf};

use feedwarden::parse::feed::{Feed, FeedError, Limits, read};

use super::render::render;

/// Where every fixture was fetched from.
pub(super) const BASE_URL: &str = "https://example.org/feeds/feed.xml";

/// Every fixture, in order.
pub(super) fn all() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/feeds");
    let mut files: Vec<PathBuf> = fs::read_dir(root)
        .expect("fixtures can be listed")
        .flat_map(|folder| {
            fs::read_dir(folder.expect("fixtures can be listed").path()).expect("fixtures can be listed")
        })
        .map(|file| file.expect("fixtures can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension != "content-type"))
        .collect();
    files.sort();
    files
}

/// Reads one fixture as the fetch would.
pub(super) fn read_fixture(path: &Path) -> Result<Feed, FeedError> {
    let content_type = fs::read_to_string(path.with_extension("content-type")).ok();
    let content_type = content_type.as_deref().map(str::trim);
    read(&fs::read(path).expect("fixtures can be read"), content_type, Some(BASE_URL), &Limits::default())
}

#[test]
fn every_fixture_is_read_as_its_snapshot_says() {
    for path in all() {
        let folder = path.parent().and_then(Path::file_name).unwrap().to_str().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        insta::with_settings!({
            snapshot_path => format!("../snapshots/feeds/{folder}"),
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name, render(&read_fixture(&path)));
        });
    }
}

#[test]
fn no_two_fixtures_are_the_same_and_there_are_enough_of_them() {
    let mut bodies: Vec<Vec<u8>> = all().iter().map(|path| fs::read(path).unwrap()).collect();
    let count = bodies.len();
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), count);
    assert!(count >= 150, "{count} fixtures");
}
