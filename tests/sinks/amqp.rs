//! RabbitMQ. It takes about fifteen seconds to start, so one test plays all cases.

use std::time::Duration;

use amqprs::callbacks::DefaultConnectionCallback;
use amqprs::channel::{
    BasicGetArguments, Channel, ExchangeDeclareArguments, QueueBindArguments, QueueDeclareArguments,
};
use amqprs::connection::{Connection, OpenConnectionArguments};
use feedwarden::clock::Stopwatch;
use feedwarden::model::FailureCause;
use feedwarden::sinks::SinkSettings;

use super::server::{Server, free_port, program};
use super::{
    LIMIT, NOW, assert_complete, deliver, messages, refusal, sink, sink_with, tls, until_failure, until_taken,
};

const START: &str = r#"#!/bin/sh
export ERL_EPMD_PORT=@EPMD ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_DIST_PORT=@DIST RABBITMQ_NODENAME=feedwarden@localhost
export RABBITMQ_BASE=@DIR RABBITMQ_MNESIA_BASE=@DIR/mnesia RABBITMQ_LOG_BASE=@DIR RABBITMQ_CONFIG_FILE=@DIR/rabbitmq.conf
export RABBITMQ_ENABLED_PLUGINS_FILE=@DIR/plugins RABBITMQ_ADVANCED_CONFIG_FILE=@DIR/none RABBITMQ_PID_FILE=@DIR/pid
export RABBITMQ_CONF_ENV_FILE=@DIR/env RABBITMQ_GENERATED_CONFIG_DIR=@DIR/generated
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-kernel inet_dist_use_interface {127,0,0,1}'
epmd -port @EPMD -address 127.0.0.1 &
exec @RABBIT
"#;

async fn start() -> Option<(Server, u16, SinkSettings)> {
    let rabbit = program("rabbitmq-server").filter(|_| program("epmd").is_some())?;
    // That of Debian in /usr/sbin changes to a user of its own.
    let rabbit = if rabbit.starts_with("/usr/sbin") { "/usr/lib/rabbitmq/bin/rabbitmq-server".into() } else { rabbit };
    let directory = tempfile::tempdir().unwrap();
    let settings = tls::certify(directory.path());
    let (port, tls_port) = (free_port(), free_port());
    let fill = |text: &str| {
        text.replace("@DIR", directory.path().to_str().unwrap())
            .replace("@RABBIT", rabbit.to_str().unwrap())
            .replace("@EPMD", &free_port().to_string())
            .replace("@DIST", &free_port().to_string())
    };
    let configuration = format!(
        "listeners.tcp.1 = 127.0.0.1:{port}\nlisteners.ssl.1 = 127.0.0.1:{tls_port}\nlog.console = true\n\
         ssl_options.certfile = @DIR/cert.pem\nssl_options.keyfile = @DIR/key.pem\nssl_options.verify = verify_none\n"
    );
    std::fs::write(directory.path().join("rabbitmq.conf"), fill(&configuration)).unwrap();
    std::fs::write(directory.path().join("plugins"), "[].").unwrap();
    std::fs::write(directory.path().join("start"), fill(START)).unwrap();
    let server = Server::start_at(directory, port, &["sh", "@DIR/start"]).await;
    Some((server, tls_port, settings))
}

async fn channel(server: &Server) -> (Connection, Channel) {
    let arguments = OpenConnectionArguments::new("127.0.0.1", server.port, "guest", "guest");
    let connection = Connection::open(&arguments).await.unwrap();
    connection.register_callback(DefaultConnectionCallback).await.unwrap();
    let channel = connection.open_channel(None).await.unwrap();
    (connection, channel)
}

async fn make_queue(server: &Server, queue: &str, exchange: Option<&str>) {
    let (_connection, channel) = channel(server).await;
    channel.queue_declare(QueueDeclareArguments::durable_client_named(queue)).await.unwrap();
    if let Some(exchange) = exchange {
        let arguments = ExchangeDeclareArguments::new(exchange, "topic").durable(true).finish();
        channel.exchange_declare(arguments).await.unwrap();
        channel.queue_bind(QueueBindArguments::new(queue, exchange, "post.*")).await.unwrap();
    }
}

/// Payloads and message ids of a queue, which is empty then.
async fn drain(server: &Server, queue: &str) -> (Vec<String>, Vec<String>) {
    let (_connection, channel) = channel(server).await;
    let (mut payloads, mut ids) = (Vec::new(), Vec::new());
    let arguments = BasicGetArguments::new(queue).no_ack(true).finish();
    while let Some((_, properties, content)) = channel.basic_get(arguments.clone()).await.unwrap() {
        payloads.push(String::from_utf8(content).unwrap());
        ids.push(properties.message_id().unwrap().clone());
    }
    (payloads, ids)
}

#[tokio::test]
async fn rabbitmq() {
    let Some((mut server, tls_port, settings)) = start().await else { return };
    order(&server).await;
    refusals(&server).await;
    over_tls(&server, tls_port, settings).await;
    frozen(&server).await;
    killed(&mut server).await;
}

async fn order(server: &Server) {
    make_queue(server, "all", Some("feeds")).await;
    let mut sink = sink(&format!("amqp://127.0.0.1:{}?exchange=feeds", server.port));
    sink.check(LIMIT).await.unwrap();
    deliver(&mut sink, 1..=50).await.unwrap();
    deliver(&mut sink, 51..=60).await.unwrap();
    let (payloads, ids) = drain(server, "all").await;
    assert_complete(&payloads, 60);
    assert_eq!((payloads.len(), ids[6].as_str()), (60, "evt_7"));
}

async fn refusals(server: &Server) {
    let at = |login: &str, rest: &str| format!("amqp://{login}127.0.0.1:{}{rest}", server.port);
    let report = refusal(&mut sink(&at("guest:mistaken@", "?exchange=feeds"))).await;
    assert_eq!(report.cause, FailureCause::Credentials, "{report:?}");
    assert!(!report.error.contains("mistaken"), "{report:?}");
    let report = refusal(&mut sink(&at("", "/nowhere?exchange=feeds"))).await;
    assert!(report.error.contains("nowhere"), "{report:?}");

    let mut missing = sink(&at("", "?exchange=missing"));
    let report = refusal(&mut missing).await;
    assert!(report.error.contains("no exchange 'missing'"), "{report:?}");
    let report = missing.check(LIMIT).await.unwrap_err();
    assert!(report.error.contains("no exchange 'missing'"), "{report:?}");

    // Nothing is bound to the exchange with this key, and there is no such queue.
    for rest in ["?exchange=feeds&routing-key=elsewhere", "?routing-key=elsewhere"] {
        let report = refusal(&mut sink(&at("", rest))).await;
        assert!(report.error.contains("no queue takes messages of the exchange"), "{report:?}");
        assert!(report.error.contains("\"elsewhere\" (NO_ROUTE); bind a queue to it"), "{report:?}");
    }
    make_queue(server, "elsewhere", None).await;
    deliver(&mut sink(&at("", "?routing-key=elsewhere")), 1..=5).await.unwrap();
    assert_complete(&drain(server, "elsewhere").await.0, 5);
}

async fn over_tls(server: &Server, port: u16, settings: SinkSettings) {
    let url = format!("amqps://guest:guest@localhost:{port}?exchange=feeds");
    deliver(&mut sink_with(&url, settings), 1..=20).await.unwrap();
    assert_complete(&drain(server, "all").await.0, 20);
    let report = refusal(&mut sink_with(&url, SinkSettings::default())).await;
    assert!(report.error.contains("certificate"), "{report:?}");
}

async fn frozen(server: &Server) {
    let mut sink = sink(&format!("amqp://127.0.0.1:{}?exchange=feeds", server.port));
    deliver(&mut sink, 1..=10).await.unwrap();
    server.freeze();
    for _ in 0..2 {
        let begun = Stopwatch::start();
        let report = sink.deliver(&messages(11..=20), NOW, Duration::from_millis(500)).await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(3));
        assert_eq!((report.cause, report.error.as_str()), (FailureCause::Stalled, "no confirmation within 0.5 s"));
    }
    server.thaw();
    deliver(&mut sink, 11..=20).await.unwrap();
    assert_complete(&drain(server, "all").await.0, 20);
}

async fn killed(server: &mut Server) {
    let mut sink = sink(&format!("amqp://127.0.0.1:{}?exchange=feeds", server.port));
    deliver(&mut sink, 1..=10).await.unwrap();
    let begun = Stopwatch::start();
    let work = tokio::spawn(async move {
        let confirmed = until_failure(&mut sink, 11).await;
        (sink, confirmed)
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    server.kill();
    let (mut sink, confirmed) = work.await.unwrap();
    assert!(confirmed > 10);
    // Not only at the time limit.
    assert!(begun.elapsed() < Duration::from_secs(10));
    let report = refusal(&mut sink).await;
    assert_eq!(report.cause, FailureCause::Connection, "{report:?}");
    server.restart().await;
    until_taken(&mut sink, confirmed + 1..=confirmed + 10).await;
    assert_complete(&drain(server, "all").await.0, confirmed + 10);
}
