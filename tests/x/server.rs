//! A server that answers requests in order, over as many connections as the client likes, and remembers each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

/// What the server does with a request.
#[derive(Clone)]
pub(crate) enum Act {
    /// Sends these bytes.
    Send(String),
    /// Sends these bytes after a while.
    SendLate(Duration, String),
    /// Sends these bytes and then nothing, as if more were to come, until the client hangs up.
    SendAndHang(String),
}

/// An answer with this status, these headers and this body.
pub(crate) fn answer(status: &str, headers: &[(&str, &str)], body: &str) -> Act {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    Act::Send(format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    ))
}

pub(crate) fn ok(body: &str) -> Act {
    answer("200 OK", &[], body)
}

/// The same answer after a while.
pub(crate) fn late(act: Act, pause: Duration) -> Act {
    match act {
        Act::Send(bytes) => Act::SendLate(pause, bytes),
        other => other,
    }
}

/// What the server was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) line: String,
    pub(crate) authorization: Option<String>,
    pub(crate) body: String,
}

/// The acts still to come and the requests so far.
struct Play {
    acts: VecDeque<Act>,
    asked: Vec<Asked>,
}

pub(crate) struct XServer {
    port: u16,
    play: Arc<Mutex<Play>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for XServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl XServer {
    pub(crate) async fn play(acts: impl IntoIterator<Item = Act>) -> XServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let play = Arc::new(Mutex::new(Play { acts: acts.into_iter().collect(), asked: Vec::new() }));
        let shared = Arc::clone(&play);
        let task = tokio::spawn(async move {
            // Dropped with this task, and all conversations with it.
            let mut conversations = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                conversations.spawn(converse(stream, Arc::clone(&shared)));
            }
        });
        XServer { port, play, task }
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&format!("http://127.0.0.1:{}", self.port)).unwrap()
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.play.lock().unwrap().asked.clone()
    }

    /// Method and target of each request.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.line).collect()
    }
}

/// Answers until the client hangs up or the acts are over; an error means that the client hung up.
async fn converse(stream: TcpStream, play: Arc<Mutex<Play>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let asked = hear(&mut stream).await?;
        let act = {
            let mut play = play.lock().unwrap();
            play.asked.push(asked);
            play.acts.pop_front()
        };
        match act {
            Some(Act::Send(bytes)) => stream.write_all(bytes.as_bytes()).await?,
            Some(Act::SendLate(pause, bytes)) => {
                tokio::time::sleep(pause).await;
                stream.write_all(bytes.as_bytes()).await?;
            }
            Some(Act::SendAndHang(bytes)) => {
                stream.write_all(bytes.as_bytes()).await?;
                while stream.read(&mut [0; 1024]).await? > 0 {}
                return Ok(());
            }
            None => return Ok(()),
        }
    }
}

async fn hear(stream: &mut BufReader<TcpStream>) -> std::io::Result<Asked> {
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let header = |name: &str| {
        let lines = head.iter().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let mut body = vec![0; header("content-length").map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await?;
    Ok(Asked {
        line: head[0].strip_suffix(" HTTP/1.1").unwrap().to_owned(),
        authorization: header("authorization"),
        body: String::from_utf8(body).unwrap(),
    })
}
