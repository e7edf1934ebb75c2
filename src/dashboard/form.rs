//! Forms that a page sent, with the token that only our own pages know.

use std::collections::HashMap;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use url::form_urlencoded;

use crate::api::{Browser, LocalApi, Problem};

/// The largest form, in bytes; ten thousand chosen sources fit in.
const FORM_BYTES_MAX: usize = 1 << 20;

/// The fields of a form whose token was right.
pub(super) struct SignedForm {
    fields: HashMap<String, Vec<String>>,
}

impl SignedForm {
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.first().map(String::as_str)
    }

    /// The trimmed value of a field; empty if it is absent.
    pub(super) fn text(&self, name: &str) -> &str {
        self.first(name).unwrap_or_default().trim()
    }

    /// The trimmed value of a field that is not empty.
    pub(super) fn given(&self, name: &str) -> Option<String> {
        Some(self.text(name)).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    pub(super) fn all(&self, name: &str) -> &[String] {
        self.fields.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_checked(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    /// A number; an empty field is none.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(text) = self.given(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| Problem::invalid(format!("{text:?} is not a whole number")).at(name))
    }
}

/// Refuses a form without the token of the session.
pub(super) fn check_token(browser: &Browser, given: Option<&str>) -> Result<(), Problem> {
    match &browser.form_token {
        // On the admin socket, where no browser can be misled.
        None if browser.who.is_some() => Ok(()),
        Some(token) if given == Some(token) => Ok(()),
        _ => Err(Problem::forbidden("the form does not belong to this session; reload the page and send it again")
            .at("form_token")),
    }
}

impl FromRequest for SignedForm {
    type Error = Problem;
    type Future = LocalBoxFuture<'static, Result<SignedForm, Problem>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let local = LocalApi::from_request(request, payload).into_inner();
        let payload = payload.take();
        Box::pin(async move {
            let fields = read(payload).await?;
            let form = SignedForm { fields };
            check_token(&local?.browser, form.first("form_token"))?;
            Ok(form)
        })
    }
}

/// Reads a form without a session, such as that of the sign-in page.
pub(super) async fn read(mut payload: Payload) -> Result<HashMap<String, Vec<String>>, Problem> {
    let mut body = web::BytesMut::new();
    while let Some(piece) = payload.next().await {
        body.extend_from_slice(&piece.map_err(Problem::invalid)?);
        if body.len() > FORM_BYTES_MAX {
            return Err(Problem::too_large(format!("a form has at most {FORM_BYTES_MAX} bytes")));
        }
    }
    let mut fields: HashMap<String, Vec<String>> = HashMap::new();
    for (name, value) in form_urlencoded::parse(&body) {
        fields.entry(name.into_owned()).or_default().push(value.into_owned());
    }
    Ok(fields)
}
