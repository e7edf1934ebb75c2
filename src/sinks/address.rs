//! Addresses of sinks: URLs, with the password apart.

use secrecy::{ExposeSecret, SecretString};
use url::{Host, Url};

use super::options::Options;
use super::{AmqpAddress, FileAddress, NatsAddress, RedisAddress};
use crate::http::percent_decoded;

/// Longest text that AMQP has a place for; a bound for the names of the others as well.
const NAME_BYTES_MAX: usize = 255;

/// Where a sink sends events.
#[derive(Clone, Debug)]
pub enum Address {
    File(FileAddress),
    Redis(RedisAddress),
    Nats(NatsAddress),
    Amqp(AmqpAddress),
}

/// A server with the login for it.
#[derive(Clone, Debug)]
pub struct Broker {
    pub tls: bool,
    /// A name or an address, without brackets.
    pub host: String,
    pub port: u16,
    pub user: Option<String>,
    pub password: Option<SecretString>,
}

/// The password or token of a URL.
pub type Secret = SecretString;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("{0:?} is no URL of a sink; write file:/PATH, redis://HOST, nats://HOST or amqp://HOST with their options")]
    NoUrl(String),
    #[error("there are no sinks for {0}: URLs; write file:, redis:, rediss:, nats:, tls: (NATS), amqp: or amqps:")]
    Scheme(String),
    #[error("the URL names no host")]
    Host,
    #[error("the option {name} is missing; write it as in {example}")]
    Missing { name: &'static str, example: &'static str },
    #[error("the option {name}={value} is no whole number from {min} on")]
    Number { name: &'static str, value: String, min: u64 },
    #[error("there is no option {name:?}; there are: {known}")]
    Unknown { name: String, known: &'static str },
    #[error("the option {0:?} stands twice")]
    Repeated(String),
    #[error("{what} is not usable: {why}")]
    Part { what: &'static str, why: &'static str },
}

impl Address {
    /// The address at a URL without secrets, and its secret.
    pub fn new(url: &str, secret: Option<&Secret>) -> Result<Address, AddressError> {
        let parsed = parsed(url)?;
        let mut options = Options::of(&parsed)?;
        if parsed.fragment().is_some() {
            return Err(AddressError::Part { what: "the part behind #", why: "sinks have no use for it" });
        }
        match parsed.scheme() {
            "file" => {
                let address = FileAddress::new(&parsed, &mut options)?;
                options.end("bytes-max, age-max-hours, files-max")?;
                Ok(Address::File(address))
            }
            scheme @ ("redis" | "rediss") => {
                let broker = Broker::new(&parsed, scheme == "rediss", 6379, secret)?;
                let address = RedisAddress::new(broker, &parsed, &mut options)?;
                options.end("stream, maxlen")?;
                Ok(Address::Redis(address))
            }
            scheme @ ("nats" | "tls") => {
                let broker = Broker::new(&parsed, scheme == "tls", 4222, secret)?;
                let address = NatsAddress::new(broker, &parsed, &mut options)?;
                options.end("subject")?;
                Ok(Address::Nats(address))
            }
            scheme @ ("amqp" | "amqps") => {
                let is_tls = scheme == "amqps";
                let broker = Broker::new(&parsed, is_tls, if is_tls { 5671 } else { 5672 }, secret)?;
                let address = AmqpAddress::new(broker, &parsed, &mut options)?;
                options.end("exchange, routing-key")?;
                Ok(Address::Amqp(address))
            }
            other => Err(AddressError::Scheme(other.to_owned())),
        }
    }

    /// Takes the password out of a URL, so that it can be kept encrypted. For NATS a login without a password is a token.
    pub fn split(url: &str) -> Result<(String, Option<Secret>), AddressError> {
        let mut parsed = parsed(url)?;
        let is_nats = matches!(parsed.scheme(), "nats" | "tls");
        let encoded = match parsed.password() {
            Some(password) => Some(password.to_owned()),
            None if is_nats && !parsed.username().is_empty() => {
                let token = parsed.username().to_owned();
                let _ = parsed.set_username("");
                Some(token)
            }
            None => None,
        };
        let Some(encoded) = encoded else { return Ok((url.to_owned(), None)) };
        let secret = decoded("the password", &encoded)?;
        let _ = parsed.set_password(None);
        Ok((parsed.into(), Some(secret.into())))
    }
}

impl Broker {
    fn new(url: &Url, tls: bool, port: u16, secret: Option<&Secret>) -> Result<Broker, AddressError> {
        let host = match url.host() {
            Some(Host::Domain(name)) if !name.is_empty() => decoded("the host", name)?,
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            _ => return Err(AddressError::Host),
        };
        let user = (!url.username().is_empty()).then(|| decoded("the user", url.username())).transpose()?;
        let written = url.password().map(|password| decoded("the password", password)).transpose()?;
        let password = written.map(Secret::from).or_else(|| secret.cloned());
        if password.as_ref().is_some_and(|password| password.expose_secret().contains('\0')) {
            return Err(AddressError::Part { what: "the password", why: "it holds a NUL" });
        }
        Ok(Broker { tls, host, port: url.port().unwrap_or(port), user, password })
    }

    /// For messages: `host:port`.
    pub(super) fn shown(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// The name of a stream, exchange or the like: bounded, without control characters.
pub(super) fn name(what: &'static str, text: String) -> Result<String, AddressError> {
    if text.len() > NAME_BYTES_MAX {
        return Err(AddressError::Part { what, why: "it is longer than 255 bytes" });
    }
    if text.chars().any(char::is_control) {
        return Err(AddressError::Part { what, why: "it holds control characters" });
    }
    Ok(text)
}

pub(super) fn decoded(what: &'static str, text: &str) -> Result<String, AddressError> {
    let text = String::from_utf8(percent_decoded(text));
    name(what, text.map_err(|_| AddressError::Part { what, why: "it is not UTF-8 once decoded" })?)
}

fn parsed(url: &str) -> Result<Url, AddressError> {
    // Not shown whole: it may hold a password in a place where none is expected.
    Url::parse(url).map_err(|_| AddressError::NoUrl(url.split(['@', '?']).next().map_or(String::new(), scheme_only)))
}

fn scheme_only(text: &str) -> String {
    text.split("//").next().unwrap_or_default().chars().take(20).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(url: &str) -> String {
        Address::new(url, None).unwrap_err().to_string()
    }

    #[test]
    fn a_password_is_taken_out_of_the_url_and_put_back_into_the_address() {
        let (url, secret) = Address::split("redis://ann:p%40ss%2Fword@[::1]:7000/3?stream=feeds&maxlen=10").unwrap();
        assert_eq!(url, "redis://ann@[::1]:7000/3?stream=feeds&maxlen=10");
        let Address::Redis(address) = Address::new(&url, secret.as_ref()).unwrap() else { panic!("not Redis") };
        assert_eq!((address.broker.host.as_str(), address.broker.port, address.database), ("::1", 7000, 3));
        assert_eq!((address.stream.as_str(), address.length_max), ("feeds", Some(10)));
        assert_eq!(address.broker.user.as_deref(), Some("ann"));
        assert_eq!(address.broker.password.as_ref().unwrap().expose_secret(), "p@ss/word");
        assert!(!format!("{address:?}").contains("p@ss"), "{address:?}");

        let (url, secret) = Address::split("nats://tok%20en@broker.example?subject=feeds").unwrap();
        assert_eq!((url.as_str(), secret.unwrap().expose_secret()), ("nats://broker.example?subject=feeds", "tok en"));
        let (url, secret) = Address::split("file:/var/lib/sinks/events.ndjson").unwrap();
        assert!(secret.is_none() && url.ends_with("/var/lib/sinks/events.ndjson"));
    }

    #[test]
    fn defaults_are_those_of_the_protocols() {
        let Address::Amqp(amqp) = Address::new("amqps://broker?exchange=feeds", None).unwrap() else { panic!() };
        assert_eq!((amqp.broker.port, amqp.virtual_host.as_str(), amqp.routing_key.as_str()), (5671, "/", "{type}"));
        let Address::Amqp(amqp) = Address::new("amqp://broker/%2Fteam?routing-key=queue", None).unwrap() else {
            panic!()
        };
        assert_eq!(
            (amqp.virtual_host.as_str(), amqp.exchange.as_str(), amqp.routing_key.as_str()),
            ("/team", "", "queue")
        );
        let Address::Nats(nats) = Address::new("tls://broker?subject=feeds.{type}", None).unwrap() else { panic!() };
        assert_eq!((nats.broker.port, nats.broker.tls, nats.subject.as_str()), (4222, true, "feeds.{type}"));
    }

    #[test]
    fn what_is_wrong_is_said_and_no_password_with_it() {
        for (url, part) in [
            ("redis://host", "the option stream is missing"),
            ("redis://host?stream=a&stream=b", "\"stream\" stands twice"),
            ("redis://host?stream=a&maxlne=5", "there is no option \"maxlne\"; there are: stream, maxlen"),
            ("redis://host?stream=a&maxlen=0", "maxlen=0 is no whole number from 1 on"),
            ("redis://host/zero?stream=a", "the database"),
            ("redis:///0?stream=a", "names no host"),
            ("nats://host?subject=a%20b", "the subject"),
            ("nats://host?subject=feeds.*", "the subject"),
            ("nats://host?subject=feeds..a", "the subject"),
            ("amqp://host", "the option exchange"),
            ("kafka://host?topic=a", "no sinks for kafka: URLs"),
            ("file:events.ndjson?x=1", "there is no option"),
            ("file:/a/b?bytes-max=10", "bytes-max=10"),
            ("redis://host?stream=a#insecure", "behind #"),
            ("://ann:hidden@host", "is no URL of a sink"),
        ] {
            let error = error(url);
            assert!(error.contains(part), "{url}: {error}");
            assert!(!error.contains("hidden"), "{error}");
        }
    }
}
