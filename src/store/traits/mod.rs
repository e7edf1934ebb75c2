//! Traits of the store, by noun. Each engine implements a trait in the file that uses its SQL.

mod daemon;
mod events;
mod fleet;
mod people;
mod posts;
mod sources;
mod websub;

pub use daemon::{AuditStore, DaemonStore, SecretStore};
pub use events::EventStore;
pub use fleet::{FleetNews, FleetStore};
pub use people::{UserStore, WebhookStore};
pub use posts::{ArticleStore, FullTextStore, PostStore};
pub use sources::{HostStore, LabelStore, PollStore, SourceAccessStore, SourceStore};
pub use websub::WebSubStore;
