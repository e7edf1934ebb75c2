//! One vetted, bounded, conditional GET. May use `model`; never sees `rules` or `actors`.

mod settings;

pub use settings::HttpSettings;
