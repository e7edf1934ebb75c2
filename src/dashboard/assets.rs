//! Style, script and icon, from the binary. Their paths change with their contents, so that browsers may keep them.

use std::sync::LazyLock;

use actix_web::http::header::CACHE_CONTROL;
use actix_web::{HttpResponse, web};
use sha2::{Digest, Sha256};

use crate::api::SITE;

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/dashboard.js");
const ICON: &str = include_str!("assets/icon.svg");

pub(super) fn routes(config: &mut web::ServiceConfig) {
    let files = [
        ("style.css", "text/css", STYLE),
        ("dashboard.js", "text/javascript", SCRIPT),
        ("icon.svg", "image/svg+xml", ICON),
    ];
    for (name, media_type, content) in files {
        let answer = move || {
            let response = HttpResponse::Ok()
                .content_type(format!("{media_type}; charset=utf-8"))
                .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
                .body(content);
            std::future::ready(response)
        };
        config.service(web::resource(format!("{SITE}/assets/{name}")).get(answer));
    }
}

pub(super) fn style_path() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| versioned("style.css", STYLE));
    &PATH
}

pub(super) fn script_path() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| versioned("dashboard.js", SCRIPT));
    &PATH
}

fn versioned(name: &str, content: &str) -> String {
    let digest = Sha256::digest(content.as_bytes());
    let version: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("{SITE}/assets/{name}?v={version}")
}
