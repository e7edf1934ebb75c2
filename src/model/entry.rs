//! What makes an entry of a source itself across polls, and what the store knows of entries.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::{ContentHash, PostId, SourceId, Timestamp};

/// The most keys that are kept of one document.
pub const DOCUMENT_KEYS_MAX: usize = 1000;

/// Identity of an entry within its source: the first eight bytes of a SHA-256. `rules::identity` decides of what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryKey(pub i64);

impl EntryKey {
    /// The key made of a kind of identity and its parts.
    pub fn of(kind: &str, parts: &[&[u8]]) -> EntryKey {
        let mut digest = Sha256::new();
        digest.update(kind.as_bytes());
        for part in parts {
            // The length keeps ("ab", "c") apart from ("a", "bc").
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        let bytes: [u8; 32] = digest.finalize().into();
        EntryKey(i64::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]]))
    }

    /// The key of an entry that nothing but its body identifies.
    pub fn of_body(hash: ContentHash) -> EntryKey {
        EntryKey::of("body", &[&hash.0])
    }
}

/// The keys of the entries of the last document that was read, sorted: at most [`DOCUMENT_KEYS_MAX`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentKeys(Vec<EntryKey>);

impl DocumentKeys {
    /// The first keys of a document, each once.
    pub fn new(keys: impl IntoIterator<Item = EntryKey>) -> DocumentKeys {
        let mut keys: Vec<EntryKey> = keys.into_iter().take(DOCUMENT_KEYS_MAX).collect();
        keys.sort_unstable();
        keys.dedup();
        DocumentKeys(keys)
    }

    pub fn contains(&self, key: EntryKey) -> bool {
        self.0.binary_search(&key).is_ok()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its keys that a later document with these entries lacks.
    pub fn left_by(&self, entries: &[(EntryKey, ContentHash)]) -> Vec<EntryKey> {
        let later: HashSet<EntryKey> = entries.iter().map(|(key, _)| *key).collect();
        self.0.iter().filter(|key| !later.contains(key)).copied().collect()
    }

    /// Whether the document may have had more entries than are kept.
    pub fn is_cut(&self) -> bool {
        self.0.len() >= DOCUMENT_KEYS_MAX
    }

    /// Eight bytes for each key.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|key| key.0.to_be_bytes()).collect()
    }

    /// The keys in what [`DocumentKeys::to_bytes`] made; an incomplete key at the end is dropped.
    pub fn from_bytes(bytes: &[u8]) -> DocumentKeys {
        let (keys, _) = bytes.as_chunks::<8>();
        DocumentKeys::new(keys.iter().map(|key| EntryKey(i64::from_be_bytes(*key))))
    }
}

/// A question to the store: which entries of a document it knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryQuery {
    pub source_id: SourceId,
    /// Key and content hash of each entry.
    pub entries: Vec<(EntryKey, ContentHash)>,
}

/// What the store knows of the entries of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownEntries {
    /// Keys of the last document; `None` if none was kept.
    pub document: Option<DocumentKeys>,
    /// Posts with one of the keys, stored or removed.
    pub by_key: Vec<KnownPost>,
    /// For entries whose key is unknown: posts whose key left with the last document, the newest posts with the same
    /// content, and posts without a key.
    pub others: Vec<KnownPost>,
}

/// A post that is stored, or was removed by the clean-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPost {
    /// `None` if the clean-up has removed it.
    pub id: Option<PostId>,
    /// `None` if an earlier version of the program stored it.
    pub key: Option<EntryKey>,
    pub content_hash: ContentHash,
    /// Not if its content is that of the entry with its key; nor are the next two.
    pub url: Option<String>,
    pub published_at: Option<Timestamp>,
    pub title: Option<String>,
    /// Number of changes since it was stored.
    pub revision: u32,
    /// Time of the last change.
    pub changed_at: Option<Timestamp>,
}

impl KnownPost {
    /// A post whose content is that of the entry with its key, so that nothing else of it matters.
    pub fn unchanged(id: Option<PostId>, key: Option<EntryKey>, content_hash: ContentHash) -> KnownPost {
        KnownPost { id, key, content_hash, url: None, published_at: None, title: None, revision: 0, changed_at: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_key_do_not_run_together() {
        assert_ne!(EntryKey::of("id", &[b"ab", b"c"]), EntryKey::of("id", &[b"a", b"bc"]));
        assert_ne!(EntryKey::of("id", &[b"a"]), EntryKey::of("url", &[b"a"]));
        assert_eq!(EntryKey::of("id", &[b"a"]), EntryKey::of("id", &[b"a"]));
    }

    #[test]
    fn the_keys_of_a_document_survive_the_way_to_the_store() {
        let keys = DocumentKeys::new([EntryKey(7), EntryKey(-3), EntryKey(7), EntryKey(i64::MIN)]);
        assert_eq!(keys.to_bytes().len(), 24);
        assert_eq!(DocumentKeys::from_bytes(&keys.to_bytes()), keys);
        assert!(keys.contains(EntryKey(-3)) && !keys.contains(EntryKey(3)));
    }

    #[test]
    fn keys_leave_with_the_last_document() {
        let keys = DocumentKeys::new([EntryKey(1), EntryKey(2), EntryKey(3)]);
        let hash = ContentHash::of("");
        assert_eq!(keys.left_by(&[(EntryKey(2), hash), (EntryKey(9), hash)]), [EntryKey(1), EntryKey(3)]);
    }

    #[test]
    fn a_long_document_keeps_its_first_keys() {
        let keys = DocumentKeys::new((0..2000).map(EntryKey));
        assert!(keys.is_cut() && keys.contains(EntryKey(999)) && !keys.contains(EntryKey(1000)));
    }
}
