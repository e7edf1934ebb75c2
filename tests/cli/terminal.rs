//! What a person sees on a terminal: tables that fit, colours, a progress bar, another screen and the old one back.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use feedwarden::demo::web::SiteBehaviour;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcsetwinsize};
use serde_json::json;

use super::{Console, feedwarden};

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

/// Types at a terminal: each text when the one before it has appeared. Returns everything that was written, whether
/// the terminal was as before when the last text appeared, and the exit code.
fn typed(mut command: Command, dialogue: &[(&str, &str)], last: &str) -> (String, bool, Option<i32>) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    tcsetwinsize(&theirs, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let modes = |terminal: &File| tcgetattr(terminal).unwrap().local_modes;
    let before = modes(&theirs);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs.try_clone().unwrap());
    let mut process = command.spawn().unwrap();
    drop(command);
    let (mut ours, mut written, mut piece) = (File::from(ours), Vec::new(), [0; 4096]);
    // A text that never comes has to fail the test, and the terminal does not end while this process has it open.
    rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::NONBLOCK).unwrap();
    let mut until = |wanted: &str, ours: &mut File, written: &mut Vec<u8>| {
        let mut tries = 0;
        while !String::from_utf8_lossy(written).contains(wanted) {
            match ours.read(&mut piece) {
                Ok(length) => written.extend_from_slice(&piece[..length]),
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
            tries += 1;
            assert!(tries < 6000, "{wanted:?} never came: {}", String::from_utf8_lossy(written));
        }
    };
    for (wanted, keys) in dialogue {
        until(wanted, &mut ours, &mut written);
        ours.write_all(keys.as_bytes()).unwrap();
    }
    until(last, &mut ours, &mut written);
    let is_as_before = modes(&theirs) == before;
    drop(theirs);
    rustix::fs::fcntl_setfl(&ours, rustix::fs::OFlags::empty()).unwrap();
    while let Ok(length @ 1..) = ours.read(&mut piece) {
        written.extend_from_slice(&piece[..length]);
    }
    (String::from_utf8_lossy(&written).into_owned(), is_as_before, process.wait().unwrap().code())
}

/// Without anything that a terminal obeys.
fn bare(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    let text = parts
        .fold(first, |text, part| text + part.split_once(|end: char| end.is_alphabetic()).map_or("", |(_, rest)| rest));
    text.replace('\r', "")
}

#[test]
fn a_list_fits_the_terminal_and_is_coloured_unless_that_is_unwanted() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    let title = "A title that is much longer than a narrow terminal is wide, and then some more of it";
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy), "--title", title]);
    for columns in [60, 80, 120] {
        let (text, code) = on_terminal(console.feedwarden(&["source", "list"]), columns);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains("\x1b[32mactive\x1b[0m") && text.contains('…'), "{text}");
        let widths: Vec<usize> = bare(&text).lines().map(|line| line.chars().count()).collect();
        assert_eq!(widths.iter().max(), Some(&usize::from(columns)), "{}", bare(&text));
    }
    let mut command = console.feedwarden(&["source", "list"]);
    command.env("NO_COLOR", "1");
    let (text, _) = on_terminal(command, 80);
    assert!(!text.contains('\x1b') && text.contains('…'), "{text}");
    assert!(console.works(&["source", "list"]).contains(title), "nothing is cut where there is no terminal");
}

#[test]
fn everything_fits_narrow_terminals_and_rows_can_be_told_apart() {
    let console = Console::new(&[SiteBehaviour::Healthy, SiteBehaviour::NotFound]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy)]);
    console.works(&["source", "add", &console.url(SiteBehaviour::NotFound), "--anyway"]);
    console.works(&["user", "add", "somebody with a long name", "--podcast", "A podcast with a title of some length"]);
    console.until_scheduled(2);
    for words in [
        &["source", "list"][..],
        &["source", "history", "2"],
        &["source", "explain", "1"],
        &["source", "explain", "2"],
        &["host", "list"],
        &["post", "list"],
        &["user", "list"],
        &["podcast", "list"],
        &["webhook", "list"],
        &["tree"],
        &["status"],
        &["top", "--count", "1"],
    ] {
        for columns in [30, 40, 60, 80] {
            let (text, code) = on_terminal(console.feedwarden(words), columns);
            assert_eq!(code, Some(0), "{text}");
            let text = bare(&text);
            // One long word stays whole, so that it can be copied.
            let lines = text.lines().filter(|line| line.trim().contains(' '));
            let widest = lines.map(|line| line.chars().count()).max();
            assert!(widest <= Some(usize::from(columns)), "{words:?} in {columns} columns: {text}");
        }
    }
    let (text, _) = on_terminal(console.feedwarden(&["source", "list"]), 30);
    let text = bare(&text);
    let rows: Vec<&str> = text.lines().skip(1).map(|line| line.trim_start_matches([' ', '1', '2'])).collect();
    assert!(rows.len() == 2 && rows[0] != rows[1] && !text.contains("http://…"), "{text}");
}

#[test]
fn a_terminal_obeys_nothing_that_others_wrote() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    let title = "gpj\u{202e}.exe\u{2066}\u{2069}";
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy), "--title", title]);
    console.works(&["user", "add", title, "--podcast", title]);
    for words in [&["source", "list"][..], &["source", "show", "1"], &["user", "list"], &["podcast", "show", "1"]] {
        let text = console.works(words);
        assert!(text.contains("gpj .exe") && !text.contains('\u{202e}') && !text.contains('\u{2066}'), "{text:?}");
    }
    let added = console.works(&["podcast", "add", title]);
    assert!(added.contains("gpj .exe") && !added.contains('\u{202e}'), "{added:?}");
    assert_eq!(console.json(&["source", "show", "1"])["title"], title, "programs get what was written");
}

#[test]
fn an_import_shows_its_progress_and_takes_it_away() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    console.works(&["pause"]);
    let outlines: String = (0..3000).map(|number| format!("<outline xmlUrl=\"http://h{number}.invalid/\"/>")).collect();
    std::fs::write(console.directory.path().join("list.opml"), format!("<opml><body>{outlines}</body></opml>"))
        .unwrap();
    let (text, _) = on_terminal(console.feedwarden(&["import", "list.opml"]), 30);
    let bars: Vec<usize> =
        text.split("\x1b[K").filter(|part| part.starts_with('[')).map(|bar| bar.trim_end().len()).collect();
    assert!(!bars.is_empty() && bars.iter().all(|length| *length <= 30), "{text:?}");
    let (text, code) = on_terminal(console.feedwarden(&["import", "list.opml"]), 80);
    assert!(code == Some(0) && text.contains("[##############################]"), "{text}");
    assert!(text.ends_with("\x1b[K0 sources added, 3000 duplicates, 0 invalid\r\n"), "{text:?}");
}

/// A daemon that looks for long: each page takes its time, and only the last one holds something.
fn slow_daemon(pages: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for page in 1..=pages {
            let (mut stream, _) = listener.accept().unwrap();
            let head = BufReader::new(&stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
            assert!(head.count() > 0, "a request");
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
fn a_person_who_waits_for_a_list_is_told_what_for() {
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
    let console = Console::new(&[SiteBehaviour::Healthy]);
    let (text, code) = on_terminal(console.feedwarden(&["top", "--count", "2"]), 80);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("\x1b[?1049h") && text.ends_with("\x1b[?1049l"), "{text:?}");
    let (text, code) = on_terminal(console.feedwarden(&["top", "--socket", "missing.sock"]), 80);
    assert!(code == Some(3) && text.starts_with("feedwarden: no daemon answers"), "{text:?}");
}

#[test]
fn q_quits_top_and_the_terminal_is_as_before() {
    let console = Console::new(&[SiteBehaviour::Healthy]);
    let (text, is_as_before, code) = typed(console.feedwarden(&["top"]), &[("polls per second", "xq")], "\x1b[?1049l");
    assert_eq!((is_as_before, code), (true, Some(0)), "{text:?}");
    // A key that nothing waits for stays for the shell; a signal restores the terminal, too.
    let mut command = Command::new("timeout");
    command.args(["--signal=TERM", "3", env!("CARGO_BIN_EXE_feedwarden"), "top"]);
    crate::in_directory(&mut command, console.directory.path());
    let (text, is_as_before, _) = typed(command, &[], "\x1b[?1049l");
    assert!(is_as_before, "{text:?}");
}

#[test]
fn q_ends_the_demo_with_its_summary() {
    let directory = tempfile::tempdir().unwrap();
    let command = feedwarden(directory.path(), &["demo", "--sources", "5", "--hosts", "2"]);
    let (text, is_as_before, code) = typed(command, &[("q ends the demo", "q")], "\x1b[?1049l");
    assert_eq!((is_as_before, code), (true, Some(0)), "{text:?}");
    let summary = text.rsplit("\x1b[?1049l").next().unwrap();
    assert!(summary.contains("polls"), "{summary}");
}

#[test]
fn a_person_is_asked_before_something_is_removed_and_a_script_is_not() {
    let console = Console::new(&[SiteBehaviour::Healthy, SiteBehaviour::NotFound]);
    console.works(&["source", "add", &console.url(SiteBehaviour::Healthy), "--title", "Good"]);
    console.works(&["source", "add", &console.url(SiteBehaviour::NotFound), "--anyway"]);
    console.works(&["user", "add", "ann"]);
    console.until_scheduled(2);
    let left = || console.json(&["source", "list"])["items"].as_array().unwrap().len();
    let ask = |words: &[&str], keys: &str, last: &str| {
        let (text, _, code) = typed(console.feedwarden(words), &[("[y/N] ", keys)], last);
        (bare(&text), code)
    };
    let (text, code) = ask(&["source", "remove", "1"], "\n", "nothing was changed");
    assert!(text.contains("Remove source 1, http://") && text.contains("(Good) and its 1 post? [y/N] "), "{text}");
    assert_eq!((code, left()), (Some(1), 2));
    let (text, code) = ask(&["source", "remove", "1", "2"], "no\n", "nothing was changed");
    assert!(text.contains("Remove 2 sources and their 1 post? [y/N] "), "{text}");
    assert_eq!((code, left()), (Some(1), 2));
    let (text, _) = ask(&["source", "disable", "--all"], "n\n", "nothing was changed");
    assert!(text.contains("Disable 2 sources? [y/N] "), "{text}");
    let (text, _) = ask(&["user", "remove", "ann"], "n\n", "nothing was changed");
    assert!(text.contains("Remove user 1, ann, and their keys? [y/N] "), "{text}");
    let (text, code) = ask(&["source", "remove", "good"], "y\n", "are removed");
    assert!(text.contains("good is source 1, http://"), "{text}");
    assert_eq!((code, left()), (Some(0), 1));
    let (text, _, code) = typed(console.feedwarden(&["source", "remove", "2", "--yes"]), &[], "are removed");
    assert!(!text.contains("[y/N]"), "{text}");
    assert_eq!((code, left()), (Some(0), 0));
    assert_eq!(console.works(&["user", "remove", "ann"]), "user 1 is removed\n");
}
