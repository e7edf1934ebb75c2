//! One endpoint: its route together with its description in the OpenAPI document.

use actix_web::http::Method;
use actix_web::{FromRequest, Handler, Responder, Route, web};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

use super::BASE;

/// Generates the schema of a type.
pub(super) type Describe = fn(&mut SchemaGenerator) -> Value;

pub(super) struct Endpoint {
    pub(super) method: Method,
    /// Prefix of the path.
    pub(super) base: &'static str,
    /// In the syntax of actix; `{name:pattern}` matches the pattern.
    pub(super) path: &'static str,
    pub(super) summary: &'static str,
    pub(super) query: Option<Describe>,
    pub(super) body: Option<MediaContent>,
    pub(super) answers: Vec<(u16, &'static str, Option<MediaContent>)>,
    pub(super) is_versioned: bool,
    /// Whether the response is an endless stream, which excludes HEAD.
    pub(super) is_endless: bool,
    pub(super) route: Route,
}

#[derive(Clone, Copy)]
pub(super) struct MediaContent {
    pub(super) media_type: &'static str,
    pub(super) describe: Describe,
}

impl MediaContent {
    const fn json<T: JsonSchema>() -> MediaContent {
        MediaContent { media_type: "application/json", describe: describe::<T> }
    }
}

impl Endpoint {
    /// An endpoint below `/api/v1`.
    pub(super) fn new<F, Args>(method: Method, path: &'static str, summary: &'static str, handler: F) -> Endpoint
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        let route = web::to(handler);
        let (query, body, answers) = (None, None, Vec::new());
        let (is_versioned, is_endless) = (false, false);
        Endpoint { method, base: BASE, path, summary, query, body, answers, is_versioned, is_endless, route }
    }

    /// GET implies HEAD (RFC 9110, 9.1).
    pub(super) fn methods(&self) -> Vec<Method> {
        match self.method {
            Method::GET if !self.is_endless => vec![Method::GET, Method::HEAD],
            _ => vec![self.method.clone()],
        }
    }

    pub(super) fn endless(mut self) -> Endpoint {
        self.is_endless = true;
        self
    }

    /// Moves the endpoint out of `/api/v1`, for clients that know no versions of the API.
    pub(super) fn at_root(mut self) -> Endpoint {
        self.base = "";
        self
    }

    pub(super) fn query<T: JsonSchema>(mut self) -> Endpoint {
        self.query = Some(describe::<T>);
        self
    }

    pub(super) fn body<T: JsonSchema>(mut self) -> Endpoint {
        self.body = Some(MediaContent::json::<T>());
        self
    }

    /// Takes a body that is not JSON.
    pub(super) fn text_body(mut self, media_type: &'static str) -> Endpoint {
        self.body = Some(MediaContent { media_type, describe: describe::<String> });
        self
    }

    pub(super) fn answers<T: JsonSchema>(mut self, status: u16, means: &'static str) -> Endpoint {
        self.answers.push((status, means, Some(MediaContent::json::<T>())));
        self
    }

    /// Answers something that is not JSON.
    pub(super) fn answers_text(mut self, media_type: &'static str, means: &'static str) -> Endpoint {
        self.answers.push((200, means, Some(MediaContent { media_type, describe: describe::<String> })));
        self
    }

    /// Answers JSON whose fields others have laid down.
    pub(super) fn answers_object(mut self, media_type: &'static str, means: &'static str) -> Endpoint {
        self.answers.push((200, means, Some(MediaContent { media_type, describe: describe::<Map<String, Value>> })));
        self
    }

    /// Answers conditional requests with 304.
    pub(super) fn conditional(mut self) -> Endpoint {
        self.answers.push((304, "Not modified", None));
        self
    }

    /// Answers nothing but a status.
    pub(super) fn answers_nothing(mut self, means: &'static str) -> Endpoint {
        self.answers.push((204, means, None));
        self
    }

    /// May refuse with this status.
    pub(super) fn refuses(mut self, status: u16, means: &'static str) -> Endpoint {
        self.answers.push((status, means, None));
        self
    }

    /// Obeys `If-Match`.
    pub(super) fn versioned(mut self) -> Endpoint {
        self.is_versioned = true;
        self.refuses(412, "Version has changed")
    }
}

fn describe<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}
