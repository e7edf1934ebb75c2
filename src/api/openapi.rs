//! The OpenAPI 3.1 document, generated from the endpoints.

use std::collections::BTreeSet;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::endpoint::Endpoint;
use super::guard;
use super::handlers::endpoints;
use super::problem::ProblemView;

pub fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    settings.meta_schema = None;
    let mut generator = SchemaGenerator::new(settings);
    let problem = generator.subschema_for::<ProblemView>().to_value();
    let mut paths = Map::new();
    for endpoint in endpoints() {
        let operation = operation(&endpoint, &problem, &mut generator);
        let path = format!("{}{}", endpoint.base, without_patterns(endpoint.path));
        let methods = paths.entry(path).or_insert_with(|| json!({}));
        methods[endpoint.method.as_str().to_lowercase()] = operation;
    }
    let mut schemas = generator.take_definitions(true);
    keep_used(&mut schemas, &paths);
    schemas.values_mut().chain(paths.values_mut()).for_each(simplify);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Feedwarden",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "HTTP API of the running daemon. \
                HEAD works wherever GET does, except for the stream of posts.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }, { "password": [] }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
                    "description": "JWT for TCP; the admin socket needs none. GET and HEAD need the scope read, all other methods write.",
                },
                "password": {
                    "type": "http", "scheme": "basic",
                    "description": "Any name, with the token as the password; the scope is read only.",
                },
            },
        },
    })
}

/// Removes schemas that nothing refers to: those of queries, whose fields are parameters.
fn keep_used(schemas: &mut Map<String, Value>, paths: &Map<String, Value>) {
    let (mut used, mut found) = (BTreeSet::new(), Vec::new());
    paths.values().for_each(|path| references(path, &mut found));
    while let Some(name) = found.pop() {
        if let (Some(schema), true) = (schemas.get(&name), used.insert(name)) {
            references(schema, &mut found);
        }
    }
    schemas.retain(|name, _| used.contains(name));
}

/// Names of the schemas that a value refers to.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let name = fields.get("$ref").and_then(Value::as_str).and_then(|reference| reference.rsplit('/').next());
            found.extend(name.map(str::to_owned));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

/// Writes schemas as generators of clients understand them, and as JSON Schema requires.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            merge_constants(fields);
            let types = fields.get("type").and_then(Value::as_array);
            let is_optional = types.is_some_and(|types| types.contains(&json!("null")));
            // An optional field with fixed values has null among them.
            if let (true, Some(Value::Array(values))) = (is_optional, fields.get_mut("enum"))
                && !values.contains(&Value::Null)
            {
                values.push(Value::Null);
            }
            fields.values_mut().for_each(simplify);
        }
        Value::Array(values) => values.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Several constants with a description each become one list of values, with the descriptions in its own.
fn merge_constants(fields: &mut Map<String, Value>) {
    let Some(variants) = fields.get("oneOf").and_then(Value::as_array) else { return };
    let (mut values, mut meanings) = (Vec::new(), Vec::new());
    for variant in variants {
        let constant = variant.get("const").map(std::slice::from_ref);
        let Some(constants) = constant.or_else(|| variant.get("enum")?.as_array().map(Vec::as_slice)) else { return };
        if variant["type"] != "string" {
            return;
        }
        if let (Some(meaning), [Value::String(name)]) = (variant["description"].as_str(), constants) {
            meanings.push(format!("- `{name}`: {meaning}"));
        }
        values.extend_from_slice(constants);
    }
    let own = fields.get("description").and_then(Value::as_str).map(str::to_owned);
    let description: Vec<String> = own.into_iter().chain((!meanings.is_empty()).then(|| meanings.join("\n"))).collect();
    fields.remove("oneOf");
    fields.insert("type".into(), json!("string"));
    fields.insert("enum".into(), Value::Array(values));
    if !description.is_empty() {
        fields.insert("description".into(), json!(description.join("\n\n")));
    }
}

fn operation(endpoint: &Endpoint, problem: &Value, generator: &mut SchemaGenerator) -> Value {
    let mut operation = json!({
        "operationId": operation_id(endpoint),
        "summary": endpoint.summary,
        "tags": [endpoint.path.split('/').nth(1).filter(|tag| !tag.is_empty()).unwrap_or("index")],
        "parameters": parameters(endpoint, generator),
    });
    if let Some(content) = endpoint.body {
        let schema = (content.describe)(generator);
        // A body without required fields may be empty.
        let is_required = content.media_type != "application/json" || !required_names(&schema, generator).is_empty();
        operation["requestBody"] =
            json!({ "required": is_required, "content": { content.media_type: { "schema": schema } } });
    }
    let is_open = guard::is_health_check(&format!("{}{}", endpoint.base, endpoint.path));
    if is_open {
        operation["security"] = json!([]);
    }
    let mut answers = Map::new();
    for (status, means, content) in &endpoint.answers {
        // One status may have several media types.
        let answer = answers.entry(status.to_string()).or_insert_with(|| json!({ "description": means }));
        if let Some(content) = content {
            answer["content"][content.media_type] = json!({ "schema": (content.describe)(generator) });
        } else if *status >= 400 {
            answer["content"] = json!({ "application/problem+json": { "schema": problem } });
        }
    }
    let content = json!({ "application/problem+json": { "schema": problem } });
    let (status, means) = if is_open { ("400", "Malformed request") } else { ("401", "No valid token, over TCP") };
    answers.entry(status).or_insert_with(|| json!({ "description": means, "content": content }));
    answers.insert("default".into(), json!({ "description": "Error", "content": content }));
    operation["responses"] = Value::Object(answers);
    operation
}

fn operation_id(endpoint: &Endpoint) -> String {
    let path = match endpoint.path {
        "" => "index".to_owned(),
        "/" => "root".to_owned(),
        path => without_patterns(path),
    };
    let words = path.split(['/', '-', '.']).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| word.trim_matches(['{', '}']).to_owned()).collect();
    format!("{}_{}", endpoint.method.as_str().to_lowercase(), words.join("_"))
}

fn parameters(endpoint: &Endpoint, generator: &mut SchemaGenerator) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for (name, pattern) in placeholders(endpoint.path) {
        let schema = match (name, pattern) {
            (_, Some(pattern)) => json!({ "type": "string", "pattern": format!("^({pattern})$") }),
            ("host", None) => json!({ "type": "string" }),
            (_, None) => json!({ "type": "integer", "format": "int64", "minimum": 1 }),
        };
        found.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    if let Some(describe) = endpoint.query {
        found.extend(query_parameters(&describe(generator), generator));
    }
    if endpoint.is_versioned {
        let description = "ETag of the version to change; without it, the current version is changed.";
        let schema = json!({ "type": "string", "minLength": 1, "pattern": r#"^(\*|"[0-9]{1,18}")$"# });
        found.push(json!({ "name": "If-Match", "in": "header", "description": description, "schema": schema }));
    }
    found
}

/// The parameters of a path, each with its pattern.
fn placeholders(path: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let inside = path.split('{').skip(1).filter_map(|part| part.split('}').next());
    inside.map(|inside| inside.split_once(':').map_or((inside, None), |(name, pattern)| (name, Some(pattern))))
}

/// A path in the syntax of OpenAPI.
pub(super) fn without_patterns(path: &str) -> String {
    placeholders(path).fold(path.to_owned(), |path, (name, pattern)| match pattern {
        Some(pattern) => path.replace(&format!("{{{name}:{pattern}}}"), &format!("{{{name}}}")),
        None => path,
    })
}

/// The schema itself, or the one it refers to.
fn resolved<'a>(schema: &'a Value, generator: &'a SchemaGenerator) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    name.and_then(|name| generator.definitions().get(name)).unwrap_or(schema)
}

fn required_names(schema: &Value, generator: &SchemaGenerator) -> Vec<String> {
    let names = resolved(schema, generator)["required"].as_array().into_iter().flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Each property of the query type is a parameter.
fn query_parameters(schema: &Value, generator: &SchemaGenerator) -> Vec<Value> {
    let required = required_names(schema, generator);
    let schema = resolved(schema, generator);
    let properties = schema["properties"].as_object().into_iter().flatten();
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = schema.clone();
        // An optional parameter is absent, never null.
        if let Some(types) = schema["type"].as_array() {
            schema["type"] = types.first().cloned().unwrap_or_default();
        }
        let description = schema["description"].take();
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("description");
            schema.remove("default");
        }
        json!({
            "name": name, "in": "query", "required": required.contains(name), "schema": schema, "description": description,
        })
    };
    properties.map(parameter).collect()
}
