//! The frame of every page: head, navigation, message of the last action, footer.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, LOCATION, REFERRER_POLICY};
use maud::{DOCTYPE, Markup, html};

use super::assets::{script_path, style_path};
use super::elements::{form_token, words};
use crate::api::{LocalApi, ProblemView, SITE};

/// The result of a handler of a page.
pub(super) type PageResult = Result<HttpResponse, PageProblem>;

/// Only our own script and style, nothing inline, nothing from elsewhere, no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The sections of the navigation, with their paths below the dashboard.
const SECTIONS: [(&str, &str); 10] = [
    ("Overview", ""),
    ("Sources", "/sources"),
    ("Hosts", "/hosts"),
    ("Posts", "/posts"),
    ("Supervision", "/supervision"),
    ("Webhooks", "/webhooks"),
    ("Fleet", "/fleet"),
    ("Settings", "/settings"),
    (AUDIT, "/audit"),
    ("Jobs", "/jobs"),
];

/// Who changed what is shown to those who may change things.
const AUDIT: &str = "Audit";

/// A page that is being built.
pub(super) struct HtmlPage<'a> {
    local: &'a LocalApi,
    title: String,
    /// Name in the navigation that is marked.
    section: &'static str,
    status: StatusCode,
    is_live: bool,
    refresh_seconds: Option<u32>,
    plays_media: bool,
    notice: Option<String>,
}

impl<'a> HtmlPage<'a> {
    pub(super) fn new(local: &'a LocalApi, section: &'static str, title: impl Into<String>) -> HtmlPage<'a> {
        HtmlPage {
            local,
            title: title.into(),
            section,
            status: StatusCode::OK,
            is_live: false,
            refresh_seconds: None,
            plays_media: false,
            notice: None,
        }
    }

    /// Parts with `data-live` follow what happens.
    pub(super) fn live(mut self) -> HtmlPage<'a> {
        self.is_live = true;
        self
    }

    /// Reloads itself without JavaScript too, for progress.
    pub(super) fn refresh(mut self, seconds: u32) -> HtmlPage<'a> {
        self.refresh_seconds = Some(seconds);
        self
    }

    /// Allows audio and video of publishers, which load when they are played.
    pub(super) fn media(mut self) -> HtmlPage<'a> {
        self.plays_media = true;
        self
    }

    pub(super) fn status(mut self, status: StatusCode) -> HtmlPage<'a> {
        self.status = status;
        self
    }

    /// What the last action did.
    pub(super) fn notice(mut self, notice: Option<String>) -> HtmlPage<'a> {
        self.notice = notice.filter(|notice| !notice.is_empty());
        self
    }

    pub(super) fn show(self, content: Markup) -> HttpResponse {
        let mut policy = POLICY.to_owned();
        if self.plays_media {
            policy += "; media-src http: https:";
        }
        HttpResponse::build(self.status)
            .content_type("text/html; charset=utf-8")
            .insert_header((CONTENT_SECURITY_POLICY, policy))
            // `no-referrer` would have browsers send forms with `Origin: null`.
            .insert_header((REFERRER_POLICY, "same-origin"))
            .body(self.document(&content).into_string())
    }

    fn document(&self, content: &Markup) -> Markup {
        let browser = &self.local.browser;
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " – Feedwarden" }
                    link rel="stylesheet" href=(style_path());
                    link rel="icon" href=(format!("{SITE}/assets/icon.svg")) type="image/svg+xml";
                    script src=(script_path()) defer {}
                    @if let Some(seconds) = self.refresh_seconds {
                        noscript { meta http-equiv="refresh" content=(seconds); }
                    }
                }
                body data-now=(self.local.now()) data-live-url=[self.is_live.then(|| format!("{SITE}/events"))] {
                    a.skip href="#main" { "Skip to content" }
                    header.top {
                        a.brand href=(SITE) { "Feedwarden" }
                        @if browser.who.is_some() {
                            nav aria-label="Sections" {
                                ul {
                                    @for (name, path) in SECTIONS.iter().filter(|(name, _)| browser.can_write || *name != AUDIT) {
                                        li {
                                            a href=(format!("{SITE}{path}"))
                                                aria-current=[(*name == self.section).then_some("page")] { (name) }
                                        }
                                    }
                                }
                            }
                        }
                        div.session {
                            @if self.is_live {
                                span #live-state .live hidden { "live" }
                                button #live-pause type="button" hidden { "Pause updates" }
                            }
                            @if let Some(who) = &browser.who {
                                span.who { (who) @if !browser.can_write { " (read only)" } }
                                @if browser.form_token.is_some() {
                                    form method="post" action=(format!("{SITE}/sign-out")) {
                                        (form_token(self.local))
                                        button type="submit" { "Sign out" }
                                    }
                                }
                            }
                        }
                    }
                    main #main tabindex="-1" {
                        @if let Some(notice) = &self.notice {
                            p.notice role="status" { (words(notice)) }
                        }
                        (content)
                    }
                    footer {
                        "Feedwarden " (env!("CARGO_PKG_VERSION"))
                        noscript { " · Times are UTC. With JavaScript, pages follow what happens." }
                    }
                }
            }
        }
    }
}

/// An error of a page: the API's.
pub(super) struct PageProblem(pub(super) ProblemView);

impl From<ProblemView> for PageProblem {
    fn from(problem: ProblemView) -> PageProblem {
        PageProblem(problem)
    }
}

impl From<crate::api::Problem> for PageProblem {
    fn from(problem: crate::api::Problem) -> PageProblem {
        PageProblem(problem.view())
    }
}

impl std::fmt::Debug for PageProblem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0.detail)
    }
}

impl std::fmt::Display for PageProblem {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.0.detail)
    }
}

impl actix_web::ResponseError for PageProblem {
    fn status_code(&self) -> StatusCode {
        StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Becomes a page on its way out (`api::site`).
    fn error_response(&self) -> HttpResponse {
        let mut answer = HttpResponse::new(self.status_code());
        answer.extensions_mut().insert(self.0.clone());
        answer
    }
}

/// Where the browser goes after a form, with what was done. `path` is below the dashboard.
pub(super) fn go_to(path: &str, notice: &str) -> HttpResponse {
    let (path, fragment) =
        path.split_once('#').map_or((path, String::new()), |(path, name)| (path, format!("#{name}")));
    let joint = if path.contains('?') { '&' } else { '?' };
    let query: String = url::form_urlencoded::Serializer::new(String::new()).append_pair("notice", notice).finish();
    let target = match notice {
        "" => format!("{SITE}{path}{fragment}"),
        _ => format!("{SITE}{path}{joint}{query}{fragment}"),
    };
    HttpResponse::SeeOther().insert_header((LOCATION, target)).finish()
}
