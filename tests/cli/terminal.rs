//! What a person sees on a terminal: tables that fit, colours, a progress bar, another screen and the old one back.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use feedwarden::demo::web::Character;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::json;

use super::{Desk, feedwarden};

/// Everything that a command writes to a terminal of this many columns, and its exit code.
fn on_terminal(mut command: Command, columns: u16) -> (String, Option<i32>) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    tcsetwinsize(&theirs, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    command.stdout(theirs.try_clone().unwrap()).stderr(theirs).stdin(Stdio::null());
    let mut process = command.spawn().unwrap();
    // The terminal ends with the last who could write to it.
    drop(command);
    let (mut ours, mut written, mut piece) = (File::from(ours), Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = ours.read(&mut piece) {
        written.extend_from_slice(&piece[..length]);
    }
    (String::from_utf8(written).unwrap(), process.wait().unwrap().code())
}

/// Without the colours.
fn bare(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn a_list_fits_the_terminal_and_is_coloured_unless_that_is_unwanted() {
    let desk = Desk::new(&[Character::Healthy]);
    let title = "A title that is much longer than a narrow terminal is wide, and then some more of it";
    desk.works(&["source", "add", &desk.url(Character::Healthy), "--title", title]);
    for columns in [60, 80, 120] {
        let (text, code) = on_terminal(desk.feedwarden(&["source", "list"]), columns);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("\x1b[32mactive\x1b[0m") && text.contains('…'), "{text}");
        let widths: Vec<usize> = bare(&text).lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths.iter().max(), Some(&usize::from(columns)), "{}", bare(&text));
    }
    let mut command = desk.feedwarden(&["source", "list"]);
    command.env("NO_COLOR", "1");
    let (text, _) = on_terminal(command, 80);
    assert!(!text.contains('\x1b') && text.contains('…'), "{text}");
    assert!(desk.works(&["source", "list"]).contains(title), "nothing is cut where there is no terminal");
}

#[test]
fn an_import_shows_its_progress_and_takes_it_away() {
    let desk = Desk::new(&[Character::Healthy]);
    desk.works(&["pause"]);
    let outlines: String = (0..3000).map(|number| format!("<outline xmlUrl=\"http://h{number}.invalid/\"/>")).collect();
    std::fs::write(desk.directory.path().join("list.opml"), format!("<opml><body>{outlines}</body></opml>")).unwrap();
    let (text, code) = on_terminal(desk.feedwarden(&["import", "list.opml"]), 80);
    assert!(code == Some(0) && text.contains("[##############################]"), "{text}");
    assert!(
        text.ends_with("\x1b[K3000 sources added, 0 were there already or twice, 0 cannot be used\r\n"),
        "{text:?}"
    );
}

/// A daemon that looks for long: each page takes its time, and only the last one holds something.
fn slow_daemon(pages: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for page in 1..=pages {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.extend((&stream).bytes().next().unwrap());
            }
            std::thread::sleep(Duration::from_millis(600));
            let user = json!({ "id": 7, "name": "ann", "created_at": "2026-11-16T07:56:06Z", "x_key_at": null });
            let body = match page == pages {
                true => json!({ "items": [user], "next_cursor": null }),
                false => json!({ "items": [], "next_cursor": page.to_string() }),
            };
            let body = body.to_string();
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    url
}

#[test]
fn whoever_waits_for_a_list_is_told_what_for() {
    let directory = tempfile::tempdir().unwrap();
    let ask = |pages| {
        let url = slow_daemon(pages);
        on_terminal(feedwarden(directory.path(), &["user", "list", "--url", &url]), 80)
    };
    let (text, code) = ask(3);
    assert!(code == Some(0) && text.contains("\r\x1b[Klooking, 0 found …\r\x1b[K"), "{text:?}");
    assert!(bare(&text).contains("7  ann"), "{text:?}");
    let (text, _) = ask(1);
    assert!(!text.contains("looking"), "{text:?}");
}

#[test]
fn top_gives_the_terminal_back() {
    let desk = Desk::new(&[Character::Healthy]);
    let (text, code) = on_terminal(desk.feedwarden(&["top", "--count", "2"]), 80);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("\x1b[?1049h") && text.ends_with("\x1b[?1049l"), "{text:?}");
    let (text, code) = on_terminal(desk.feedwarden(&["top", "--socket", "missing.sock"]), 80);
    assert!(code == Some(3) && text.starts_with("feedwarden: no daemon answers"), "{text:?}");
}
