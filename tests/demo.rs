//! The show: as a process, and its picture drawn from a made-up scene.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use feedwarden::actors::StatisticsView;
use feedwarden::demo::{
    DemoEvent, DemoEventKind, FleetDemoEvent, FleetDemoEventKind, FleetDemoNode, FleetDemoPhase, FleetDemoScene,
    HostsByState, NodeProcessState, Phase, Scene, Size, SourcesByState, WebLoad, render, render_fleet,
};
use feedwarden::model::{FailureKind, Timestamp};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::{TempDir, tempdir};

fn start(temporary: &Path, arguments: &[&str]) -> Child {
    command(temporary, arguments).spawn().unwrap()
}

fn command(temporary: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
    command.arg("demo").args(arguments).env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

#[test]
fn the_show_ends_by_itself_keeps_its_promises_and_leaves_nothing_behind() {
    let temporary = tempdir().unwrap();
    let output = start(temporary.path(), &["--seconds", "5", "--seed", "7", "--json"]).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(output.status.code(), Some(0), "{summary:#} {said}");
    let number = |key: &str| summary[key].as_u64().unwrap_or_else(|| panic!("{key}: {summary:#}"));
    assert!(number("polled") > 200, "most sources were asked, many again: {summary:#}");
    assert!(number("entries_served") > 100, "{summary:#}");
    let to_be_had = number("entries_served") - number("articles_replaced");
    assert_eq!((number("entries_stored_once"), number("new_posts")), (to_be_had, to_be_had), "{summary:#}");
    for key in ["posts_doubled", "posts_outdated", "posts_unknown", "overlaps"] {
        assert_eq!(number(key), 0, "{key}: {summary:#}");
    }
    assert!(number("gap_min_ms") >= number("gap_wanted_ms"), "{summary:#}");
    assert!(number("crashes_injected") > 0, "{summary:#}");
    for key in ["crashes", "crashes_healed"] {
        assert_eq!(number(key), number("crashes_injected"), "{key}: {summary:#}");
    }
    for key in ["rests", "holds"] {
        assert!(number(key) > 0, "{key}: {summary:#}");
    }
    assert!(summary["failed_by_kind"]["not_found"].as_u64() > Some(0), "{summary:#}");
    let states = summary["sources"].as_object().unwrap().values();
    assert_eq!(states.filter_map(Value::as_u64).sum::<u64>(), 300, "{summary:#}");
    assert_eq!((&summary["holds_true"], &summary["actors_all_up"]), (&Value::Bool(true), &Value::Bool(true)));
    let lines = said.lines().filter(|line| line.contains(" polls (")).count();
    assert!(lines >= 3, "a line a second: {said}");
    assert!(!said.contains("panicked"), "injected crashes are no noise: {said}");
    assert_eq!(entries(temporary.path()), 0);
}

#[test]
fn a_signal_ends_the_show_with_its_summary_and_leaves_the_log_that_was_asked_for() {
    let temporary = tempdir().unwrap();
    let logs = tempdir().unwrap();
    let log = logs.path().join("demo.log");
    let small = ["--sources", "40", "--hosts", "10", "--log", log.to_str().unwrap()];
    let mut show = start(temporary.path(), &small);
    let mut lines = BufReader::new(show.stderr.take().unwrap()).lines();
    let is_under_way = |line: &String| line.contains(" polls (") && !line.contains(": 0 polls");
    assert!(lines.by_ref().map(Result::unwrap).any(|line| is_under_way(&line)), "it began");
    assert_eq!(entries(temporary.path()), 1, "its store is in the temporary directory");
    kill_process(Pid::from_child(&show), Signal::INT).unwrap();
    let mut summary = String::new();
    show.stdout.take().unwrap().read_to_string(&mut summary).unwrap();
    let said: Vec<String> = lines.map(Result::unwrap).collect();
    assert_eq!(show.wait().unwrap().code(), Some(0), "{summary} {said:?}");
    assert!(summary.contains("\nyes         every served entry is stored exactly once ("), "{summary}");
    assert!(summary.contains("(0 overlaps)") && !summary.contains("\nNO "), "{summary}");
    assert_eq!(entries(temporary.path()), 0);
    assert!(std::fs::read_to_string(&log).unwrap().contains("\"source polled\""));
}

#[test]
fn a_show_that_cannot_begin_says_why_and_leaves_nothing_behind() {
    let temporary = tempdir().unwrap();
    let missing = temporary.path().join("missing/demo.log");
    let output = start(temporary.path(), &["--log", missing.to_str().unwrap()]).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("demo.log"), "{said}");
    let wrong = start(temporary.path(), &["--speed", "0"]).wait_with_output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert_eq!(entries(temporary.path()), 0);
}

/// A directory that the user of a temporary PostgreSQL server can reach, also if root runs the test.
fn reachable_directory() -> TempDir {
    let directory = tempdir().unwrap();
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o711)).unwrap();
    directory
}

/// With the programs of the PostgreSQL server that the other tests use.
fn start_fleet(temporary: &Path, arguments: &[&str]) -> Child {
    let programs = std::env::var("FEEDWARDEN_TEST_POSTGRES_BIN").expect("the tests run in tests/with-postgres");
    let path = std::env::var("PATH").unwrap_or_default();
    // Settings of the environment are not for the nodes.
    let mut command = command(temporary, arguments);
    command.env("PATH", format!("{programs}:{path}")).env("FEEDWARDEN__FLEET__NAME", "all-the-same").spawn().unwrap()
}

/// Processes that were started with files in this directory: nodes and the server.
fn processes_of(directory: &Path) -> Vec<String> {
    let name = directory.to_str().unwrap();
    let commands = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|process| {
        let words = std::fs::read(process.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&words).replace('\0', " "))
    });
    commands.filter(|command| command.contains(name)).collect()
}

#[test]
fn a_fleet_whose_nodes_are_killed_and_suspended_keeps_its_promises_and_leaves_nothing_behind() {
    let temporary = reachable_directory();
    let arguments = ["--nodes", "3", "--seconds", "18", "--sources", "80", "--hosts", "40", "--seed", "3", "--json"];
    let output = start_fleet(temporary.path(), &arguments).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert_eq!(output.status.code(), Some(0), "{summary:#} {said}");
    let number = |key: &str| summary[key].as_u64().unwrap_or_else(|| panic!("{key}: {summary:#}"));
    assert_eq!((number("nodes"), number("kills"), number("suspensions")), (3, 1, 1), "{summary:#}");
    assert_eq!((number("takeovers"), number("nodes_left_in_order")), (2, 3), "{summary:#}");
    assert!(number("nodes_expired") >= 2, "the others noticed: {summary:#}");
    assert_eq!((number("sources"), number("sources_polled")), (80, 80), "{summary:#}");
    assert!(number("entries_served") > 50, "{summary:#}");
    assert_eq!(number("entries_stored_once"), number("entries_served"), "{summary:#}");
    for key in ["posts_doubled", "posts_outdated", "posts_unknown", "overlaps"] {
        assert_eq!(number(key), 0, "{key}: {summary:#}");
    }
    assert!(number("gap_min_ms") >= number("gap_wanted_ms"), "{summary:#}");
    assert!(number("hosts_of_several_nodes") > 0, "hosts have changed hands: {summary:#}");
    for node in ["node-1", "node-2", "node-3"] {
        assert!(summary["requests_by_node"][node].as_u64() > Some(0), "{node}: {summary:#}");
    }
    assert_eq!(summary["requests_by_node"]["unknown"], Value::Null, "{summary:#}");
    assert_eq!(summary["holds_true"], Value::Bool(true));
    assert_eq!(processes_of(temporary.path()), [""; 0]);
    assert_eq!(entries(temporary.path()), 0);
}

#[test]
fn a_second_signal_ends_a_fleet_at_once_and_leaves_nothing_behind() {
    let temporary = reachable_directory();
    let mut show = start_fleet(temporary.path(), &["--nodes", "2", "--sources", "20", "--hosts", "10"]);
    let mut lines = BufReader::new(show.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("node-1 live") && line.contains("node-2 live")), "it began");
    assert_eq!(entries(temporary.path()), 1, "everything is in one directory");
    let nodes = processes_of(temporary.path()).iter().filter(|command| command.contains(" run --config ")).count();
    assert_eq!(nodes, 2);
    kill_process(Pid::from_child(&show), Signal::INT).unwrap();
    assert!(lines.by_ref().any(|line| line.contains("stopping: ")), "it tells that it stops");
    kill_process(Pid::from_child(&show), Signal::INT).unwrap();
    let said: Vec<String> = lines.collect();
    let status = show.wait().unwrap();
    assert!(matches!(status.code(), Some(0 | 1)), "{status} {said:?}");
    assert_eq!(processes_of(temporary.path()), [""; 0]);
    assert_eq!(entries(temporary.path()), 0);
}

#[test]
fn a_fleet_that_cannot_begin_says_why_and_leaves_nothing_behind() {
    let temporary = tempdir().unwrap();
    let refused = |arguments: &[&str], words: &str| {
        let output = start(temporary.path(), arguments).wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    };
    refused(&["--nodes", "3", "--speed", "600"], "cannot be used with '--speed");
    refused(&["--nodes", "1"], "1 is not in 2..=9");
    refused(&["--nodes", "10"], "10 is not in 2..=9");
    assert_eq!(entries(temporary.path()), 0);
}

/// A fleet as it could be four seconds after a kill.
fn fleet_scene() -> FleetDemoScene {
    let node = |number: usize, process, is_live, shards, sources| FleetDemoNode {
        name: format!("node-{number}"),
        process,
        is_live,
        shards,
        sources,
        polls_per_second: if is_live { 10.04 } else { 0.0 },
        fenced: u64::from(number == 2),
    };
    let event = |seconds, kind, node: &str, words: &str| FleetDemoEvent {
        at: Duration::from_secs(seconds),
        kind,
        node: node.into(),
        shards: 0,
        words: words.into(),
    };
    let owner = |shard: usize| match shard {
        0..100 => Some(0),
        100..200 => Some(1),
        _ => None,
    };
    FleetDemoScene {
        elapsed: Duration::from_secs(68),
        lease: Duration::from_secs(3),
        phase: FleetDemoPhase::Running,
        sources: 300,
        nodes: vec![
            node(1, NodeProcessState::Running, true, 100, 142),
            node(2, NodeProcessState::Suspended, true, 100, 158),
            node(3, NodeProcessState::Killed, false, 0, 0),
        ],
        owners: (0..256).map(owner).collect(),
        load: WebLoad {
            requests: 2050,
            overlaps: 0,
            gap_min: Some(Duration::from_micros(1_001_200)),
            gap_wanted: Duration::from_secs(1),
        },
        requests_per_second: 21.3,
        posts: 1506,
        kills: 1,
        suspensions: 3,
        takeover_max: Some(Duration::from_millis(3650)),
        events: vec![
            event(61, FleetDemoEventKind::Taken, "node-1", "15 shards"),
            event(64, FleetDemoEventKind::Killed, "node-3", "on purpose (SIGKILL)"),
            event(67, FleetDemoEventKind::Expired, "node-3", "no renewal for 3 s, found by node-1"),
            event(67, FleetDemoEventKind::Lost, "node-3", "86 shards"),
            event(67, FleetDemoEventKind::Fenced, "node-2", "1 poll not stored: another node has the source"),
        ],
    }
}

const FLEET: &str = "\
Feedwarden demo   3 nodes on one PostgreSQL   01:08   lease 3 s
They share 300 sources of a simulated web on this machine. 1,506 posts so far.

  NODE      STATE               SHARDS  SOURCES  POLLS/S  FENCED
1 node-1    live                   100      142     10.0       0
2 node-2    suspended              100      158     10.0       1
3 node-3    killed, expired          -        -        -       -

SHARDS    1111111111111111111111111111111111111111111111111111111111111111
          1111111111111111111111111111111111112222222222222222222222222222
          2222222222222222222222222222222222222222222222222222222222222222
          22222222························································

LOAD      2,050 requests, 0 concurrent to one host, pauses ≥ 1.00 s (1 s set)
FAULTS    1 kill, 3 suspensions; other nodes had all shards within 3.6 s

EVENTS
01:01 taken     node-1  15 shards
01:04 killed    node-3  on purpose (SIGKILL)
01:07 expired   node-3  no renewal for 3 s, found by node-1
01:07 lost      node-3  86 shards
01:07 fenced    node-2  1 poll not stored: another node has the source

q ends the demo with a summary";

const FLEET_SMALL: &str = "\
Feedwarden demo  01:08
node-1 live, 100 shards, 10 polls/s
node-2 suspended, 100 shards, 10 polls/s
node-3 killed, expired, 0 shards, 0 pol…
0 overlaps, 1 kill, 3 suspensions
01:01 taken     node-1  15 shards
01:04 killed    node-3  on purpose (SIG…
01:07 expired   node-3  no renewal for …
01:07 lost      node-3  86 shards
01:07 fenced    node-2  1 poll not stor…

q ends the demo with a summary";

#[test]
fn the_picture_of_a_fleet_shows_the_owner_of_every_shard() {
    let drawn = |columns, rows| render_fleet(&fleet_scene(), Size { columns, rows }, false).join("\n");
    assert_eq!(drawn(80, 24), FLEET);
    assert_eq!(drawn(40, 12), FLEET_SMALL);
    let coloured = render_fleet(&fleet_scene(), Size { columns: 80, rows: 24 }, true).join("\n");
    assert!(coloured.contains("\x1b[31m2\x1b[0m"), "shards of a suspended node are red");
}

/// A scene as it could be after half a minute.
fn scene() -> Scene {
    let at = |minutes: u64| "2026-11-16T16:00:00Z".parse::<Timestamp>().unwrap() + Duration::from_secs(minutes * 60);
    let event = |minutes, kind, subject: &str, words: &str| DemoEvent {
        at: at(minutes),
        kind,
        subject: subject.into(),
        words: words.into(),
    };
    let mut done = StatisticsView { read: 1318, unchanged: 2770, new_posts: 1830, ..StatisticsView::default() };
    done.failed[FailureKind::NotFound as usize] = 72;
    done.failed[FailureKind::Network as usize] = 86;
    (done.crashes, done.restarts) = (16, 16);
    Scene {
        now: at(56),
        passed: Duration::from_secs(36_000),
        speed: 1200.0,
        phase: Phase::Running,
        sources: SourcesByState { fresh: 4, active: 220, backing_off: 19, resting: 44, disabled: 13 },
        hosts: HostsByState { asked: 66, held: 3, breaker_open: 5 },
        polls_per_second: 141.4,
        pulse: vec![80.0, 120.0, 160.0, 141.0],
        load: WebLoad {
            requests: 4376,
            overlaps: 0,
            gap_min: Some(Duration::from_millis(20_480)),
            gap_wanted: Duration::from_secs(20),
        },
        done,
        injected: 16,
        events: vec![
            event(27, DemoEventKind::Rests, "127.1.0.63/120/feed", "for 2 h after 5 network in a row"),
            event(31, DemoEventKind::Disabled, "127.1.0.42/101/feed", "Auto-disabled after 5 consecutive 404 errors"),
            event(33, DemoEventKind::World, "127.1.0.12", "is switched off on purpose"),
            event(40, DemoEventKind::Host, "127.1.0.12", "no response 3 times: no requests before 17:00"),
            event(44, DemoEventKind::Restart, "post-sink", "injected fault in post-sink; restarted"),
            event(50, DemoEventKind::Crashed, "scheduler", "injected fault in scheduler"),
            event(52, DemoEventKind::Returns, "127.1.0.9/8/feed", "answers again after its rest"),
            event(
                55,
                DemoEventKind::Host,
                "127.1.0.28",
                "held until 18:25: HTTP 429 with Retry-After, of more than fits",
            ),
        ],
    }
}

const USUAL: &str = "\
Feedwarden demo   day 1 16:56   an hour passes in 3.0 s
The daemon polls 300 sources of a simulated web on this machine.

SOURCES   ███████████████████████████████████████████████████▓▓▓▓▒▒▒▒▒▒▒▒▒▒░░░·
          █ 220 active  ▓ 19 backing off  ▒ 44 resting  ░ 13 disabled  · 4 new

POLLS     141 a second ▅▆█▇ 4,246 in all, 65 % unchanged (304)
FAILURES  158: network 86, not_found 72
POSTS     1,830 new; the summary checks for lost and duplicate posts
HOSTS     66 polled, 3 held (after 429 or 503), 5 with an open breaker
LOAD      4,376 requests, 0 concurrent to one host, pauses ≥ 20.5 s (20 s set)
CRASHES   16 injected, 16 restarts

EVENTS
16:27 rests    127.1.0.63/120/feed for 2 h after 5 network in a row
16:31 disabled 127.1.0.42/101/feed Auto-disabled after 5 consecutive 404 errors
16:33 web      127.1.0.12          is switched off on purpose
16:40 host     127.1.0.12          no response 3 times: no requests before 17:00
16:44 restart  post-sink           injected fault in post-sink; restarted
16:50 crashed  scheduler           injected fault in scheduler
16:52 returns  127.1.0.9/8/feed    answers again after its rest
16:55 host     127.1.0.28          held until 18:25: HTTP 429 with Retry-After,…

q ends the demo with a summary";

const SMALL: &str = "\
Feedwarden demo  16:56
220 active  19 back off  44 rest  13 off
141 polls/s, 1,830 new posts
0 overlaps, gaps ≥ 20.5 s
16 crashes, 16 restarts
16:33 web      127.1.0.12 is switched o…
16:40 host     127.1.0.12 no response 3…
16:44 restart  post-sink injected fault…
16:50 crashed  scheduler injected fault…
16:52 returns  127.1.0.9/8/feed answers…
16:55 host     127.1.0.28 held until 18…
q ends the demo with a summary";

#[test]
fn the_picture_fits_a_usual_terminal_and_a_small_one() {
    let drawn = |columns, rows| render(&scene(), Size { columns, rows }, false).join("\n");
    assert_eq!(drawn(80, 24), USUAL);
    assert_eq!(drawn(40, 12), SMALL);
}

#[test]
fn whatever_the_size_nothing_is_larger_than_the_screen() {
    for columns in 0..130 {
        for rows in 0..40 {
            let size = Size { columns, rows };
            for lines in [render(&scene(), size, false), render_fleet(&fleet_scene(), size, false)] {
                assert_eq!(lines.len(), rows, "{columns} columns");
                assert!(lines.iter().all(|line| line.chars().count() <= columns), "{columns} columns, {rows} rows");
            }
        }
    }
}

#[test]
fn colours_add_nothing_but_colours() {
    for size in [Size { columns: 80, rows: 24 }, Size { columns: 40, rows: 12 }] {
        let plain = render(&scene(), size, false).join("\n");
        let coloured = render(&scene(), size, true).join("\n");
        assert!(!plain.contains('\x1b') && coloured.contains("\x1b[32m"));
        let mut pieces = coloured.split("\x1b[");
        let first = pieces.next().unwrap_or_default().to_owned();
        let stripped = pieces.fold(first, |text, piece| text + piece.split_once('m').unwrap().1);
        assert_eq!(stripped, plain);
    }
}
