//! `websub.*`.

use super::super::effective::Effective;
use super::super::kind::KeyKind;
use super::super::problem::ConfigProblem;
use super::super::schema::SchemaKey;
use super::add;
use crate::actors::WebSubSettings;

pub(super) const KEYS: &[SchemaKey] = &[
    SchemaKey::new("websub.public-url", KeyKind::CallbackUrl, "the URL under which hubs reach the listener"),
    SchemaKey::new("websub.listen", KeyKind::Listen, "the address and port for hubs"),
];

/// Both keys, or none.
pub(in crate::config) fn websub(values: &Effective, problems: &mut Vec<ConfigProblem>) -> Option<WebSubSettings> {
    match (values.url("websub.public-url"), values.listen("websub.listen")) {
        (None, None) => None,
        (Some(url), Some(listen)) => {
            if values.listen("api.listen") == Some(listen) && listen.port() != 0 {
                let text = "this is api.listen too; hubs need an address or a port of their own".to_owned();
                add(values, "websub.listen", text, problems);
            }
            Some(WebSubSettings { public_url: url.as_str().trim_end_matches('/').to_owned(), listen })
        }
        (Some(_), None) => {
            let text = "hubs would push to nothing; set websub.listen too, or leave this out".to_owned();
            add(values, "websub.public-url", text, problems);
            None
        }
        (None, Some(_)) => {
            let text = "no hub would know of it; set websub.public-url too, or leave this out".to_owned();
            add(values, "websub.listen", text, problems);
            None
        }
    }
}
