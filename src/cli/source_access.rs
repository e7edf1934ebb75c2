//! `feedwarden source access`: sets logins and headers from files, and shows their names only.

use std::path::Path;

use hyper::Method;
use serde_json::{Map, Value, json};

use super::client::{ApiClient, Done};
use super::error::CliError;
use super::output_style::{OutputStyle, facts};
use super::secret_file::read_secret;
use super::source_arguments::{Access, AccessFiles};
use super::source_names::find_source_to_change;
use crate::api::views::AccessView;

pub(super) async fn source_access(client: &ApiClient, access: &Access) -> Done {
    let given = read_access(&access.files)?;
    let id = match access.clear || given.is_some() {
        true => find_source_to_change(client, &access.target.source).await?,
        false => client.source(&access.target.source).await?,
    };
    let (path, version) = (format!("/sources/{id}/access"), access.target.if_version);
    if access.clear {
        let said = format!("login and headers of source {id} are removed\n");
        return client.remove(&path, version, &said).await;
    }
    let value = match given {
        Some(body) => client.send_if(Method::PUT, &path, Some(&body), version).await?,
        None => client.get(&path).await?,
    };
    client.show(value, |kept: AccessView| {
        let headers = (!kept.headers.is_empty()).then(|| kept.headers.join(", "));
        facts(
            OutputStyle::of_output(),
            &[("source", Some(id.to_string())), ("login", kept.login), ("headers", headers), ("sent to", kept.origin)],
        )
    })
}

/// The request body from the files; none if no file was given.
pub(super) fn read_access(files: &AccessFiles) -> Result<Option<Value>, CliError> {
    let AccessFiles { login_file, header_file } = files;
    let is_input = |path: &Option<std::path::PathBuf>| path.as_deref() == Some(Path::new("-"));
    if is_input(login_file) && is_input(header_file) {
        return Err(CliError::Usage("standard input can be the login or the headers, not both".into()));
    }
    let mut body = Map::new();
    if let Some(path) = login_file {
        body.insert("login".into(), login(path)?);
    }
    if let Some(path) = header_file {
        body.insert("headers".into(), headers(path)?);
    }
    Ok((!body.is_empty()).then_some(Value::Object(body)))
}

fn login(path: &Path) -> Result<Value, CliError> {
    let text = read_secret(path)?;
    let line = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    let wrong = || CliError::Usage(format!("{}: write NAME:PASSWORD on one line", path.display()));
    let (name, password) = line.split_once(':').ok_or_else(wrong)?;
    Ok(json!({ "name": name, "password": password }))
}

fn headers(path: &Path) -> Result<Value, CliError> {
    let text = read_secret(path)?;
    let mut headers = Map::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |what: &str| CliError::Usage(format!("{}, line {number}: {what}", path.display()));
        let (name, value) = line.split_once(':').ok_or_else(|| wrong("write NAME: VALUE"))?;
        if headers.insert(name.trim().to_owned(), json!(value.trim())).is_some() {
            return Err(wrong("this header is there twice"));
        }
    }
    Ok(Value::Object(headers))
}
