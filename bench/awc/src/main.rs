//! Plays the odd servers of the wire tests to awc and prints where it gives another outcome than the one wanted.

mod servers;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use servers::{Wanted, servers};

const TIMEOUT: Duration = Duration::from_secs(2);
const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;

#[actix_rt::main]
async fn main() {
    let servers = servers();
    let mut wrong = 0;
    for server in &servers {
        let found = ask(serve(server.answer.clone())).await;
        if !is_wanted(&found, &server.wanted) {
            wrong += 1;
            println!("{:<28} wanted {:<24} got {}", server.name, shown(&server.wanted), told(&found));
        }
    }
    println!("awc gives the wrong outcome on {wrong} of {} servers", servers.len());
}

/// A server that reads one request, sends these bytes and closes the connection.
fn serve(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback can be listened on");
    let address = listener.local_addr().expect("a listener has an address");
    std::thread::spawn(move || {
        let Ok((mut stream, _)) = listener.accept() else { return };
        let (mut head, mut buffer) = (Vec::new(), [0; 1024]);
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut buffer) {
                Ok(length) if length > 0 => head.extend_from_slice(&buffer[..length]),
                _ => return,
            }
        }
        // The client may have hung up already.
        let _ = stream.write_all(&answer);
    });
    address
}

/// The status and body that awc reports, or its error.
async fn ask(address: SocketAddr) -> Result<(u16, Vec<u8>), String> {
    let client = awc::Client::builder().timeout(TIMEOUT).disable_redirects().finish();
    let request = client.get(format!("http://{address}/feed")).no_decompress();
    let mut answer = request.send().await.map_err(|error| error.to_string())?;
    let body = answer.body().limit(BODY_BYTES_MAX).await.map_err(|error| error.to_string())?;
    Ok((answer.status().as_u16(), body.to_vec()))
}

fn is_wanted(found: &Result<(u16, Vec<u8>), String>, wanted: &Wanted) -> bool {
    match (found, wanted) {
        (Ok((200, body)), Wanted::Body(wanted)) => body == wanted.as_bytes(),
        (Err(_), Wanted::Error) => true,
        _ => false,
    }
}

fn shown(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Body(body) => format!("200 {body:?}"),
        Wanted::Error => "an error".to_owned(),
    }
}

fn told(found: &Result<(u16, Vec<u8>), String>) -> String {
    match found {
        Ok((status, body)) => format!("{status} {:?}", String::from_utf8_lossy(&body[..body.len().min(40)])),
        Err(error) => format!("error: {error}"),
    }
}
