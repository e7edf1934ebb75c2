//! The configuration, as the real program reads it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const JWT_SECRET: &str = "hunter2-hunter2-hunter2-hunter2-hunter2";

/// The program in a directory of its own, with nothing in its environment but what a test puts there.
struct Bench {
    directory: TempDir,
    command: Command,
}

struct Answer {
    code: i32,
    output: String,
    errors: String,
}

impl Bench {
    fn new(arguments: &[&str]) -> Bench {
        let directory = tempfile::tempdir().expect("a directory for the test");
        let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
        command.env_clear().current_dir(directory.path()).args(arguments);
        Bench { directory, command }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn file(self, name: &str, content: impl AsRef<[u8]>) -> Bench {
        std::fs::write(self.path(name), content).expect("a file for the test");
        self
    }

    fn variable(mut self, name: &str, value: &str) -> Bench {
        self.command.env(name, value);
        self
    }

    fn run(mut self) -> Answer {
        let Output { status, stdout, stderr } = self.command.output().expect("the program starts");
        Answer {
            code: status.code().expect("the program ends by itself"),
            output: String::from_utf8(stdout).expect("output is text"),
            errors: String::from_utf8(stderr).expect("messages are text"),
        }
    }
}

impl Answer {
    /// The value and the layer of one key, from `config show --json`.
    fn shown(&self, key: &str) -> (Value, String) {
        assert_eq!((self.code, self.errors.as_str()), (0, ""));
        let rows: Vec<Value> = serde_json::from_str(&self.output).expect("output is JSON");
        let row = rows.into_iter().find(|row| row["key"] == key).unwrap_or_else(|| panic!("{key} is not shown"));
        (row["value"].clone(), row["origin"]["layer"].as_str().expect("a layer has a name").to_owned())
    }

    fn refused(&self, parts: &[&str]) {
        assert_eq!((self.code, self.output.as_str()), (2, ""), "{}", self.errors);
        for part in parts {
            assert!(self.errors.contains(part), "{part:?} is missing in:\n{}", self.errors);
        }
    }

    fn keeps(&self, secrets: &[&str]) {
        for secret in secrets {
            assert!(!self.output.contains(secret) && !self.errors.contains(secret), "{secret} is told");
        }
    }
}

fn check_file(content: impl AsRef<[u8]>) -> Answer {
    Bench::new(&["config", "check", "--config", "own.yaml"]).file("own.yaml", content).run()
}

#[test]
fn later_layers_win_and_are_named() {
    let file = "source: {max-failures: 11, max-backoff-hours: 11, max-article-age-days: 11}";
    let answer = Bench::new(&["config", "show", "--json", "--config", "own.yaml", "--set", "source.max-failures=13"])
        .file("own.yaml", file)
        .variable("FEEDWARDEN__SOURCE__MAX_FAILURES", "12")
        .variable("FEEDWARDEN__SOURCE__MAX_BACKOFF_HOURS", "12")
        .run();
    assert_eq!(answer.shown("source.max-failures"), (13.into(), "set".into()));
    assert_eq!(answer.shown("source.max-backoff-hours"), (12.into(), "environment".into()));
    assert_eq!(answer.shown("source.max-article-age-days"), (11.into(), "file".into()));
    assert_eq!(answer.shown("source.remember-cleaned-days"), (30.into(), "built-in".into()));
}

#[test]
fn a_person_sees_the_name_of_the_file_and_of_the_variable() {
    let answer = Bench::new(&["--config", "own.yaml", "config", "show"])
        .file("own.yaml", "source:\n  max-failures: 11\n")
        .variable("FEEDWARDEN__LOGGING__LEVEL", "debug")
        .run();
    let line = |key: &str| {
        let line = answer.output.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("source.max-failures"), "source.max-failures 11 file own.yaml line 2");
    assert_eq!(line("logging.level"), "logging.level \"debug\" environment variable FEEDWARDEN__LOGGING__LEVEL");
    assert_eq!(line("logging.format"), "logging.format \"auto\" built-in");
}

#[test]
fn hosts_with_dots_work_in_every_layer_under_one_spelling() {
    let file = "source:\n  host-overrides:\n    Nitter.NET:\n      poll-delay-seconds: 3\n    a.example: {poll-delay-seconds: 1}\n\
                http:\n  static-hosts:\n    feeds.example.org: 192.0.2.7\n";
    let assignment = "source.host-overrides.bücher.example.poll-delay-seconds=5";
    let answer = Bench::new(&["--set", assignment, "config", "show", "--json", "--config", "own.yaml"])
        .file("own.yaml", file)
        .variable("FEEDWARDEN__SOURCE__HOST_OVERRIDES__A__EXAMPLE__POLL_DELAY_SECONDS", "2")
        .run();
    let shown = |host: &str| answer.shown(&format!("source.host-overrides.{host}.poll-delay-seconds"));
    assert_eq!(shown("nitter.net"), (3.into(), "file".into()));
    assert_eq!(shown("a.example"), (2.into(), "environment".into()));
    assert_eq!(shown("xn--bcher-kva.example"), (5.into(), "set".into()));
    assert_eq!(answer.shown("http.static-hosts.feeds.example.org"), ("192.0.2.7".into(), "file".into()));
}

#[test]
fn s1005_the_seeds_example_is_accepted_as_it_stands_and_shown_under_our_names() {
    let example = "app:\n  source:\n    poll-delay-seconds:\n      rss: 0\n      website: 2\n      twitter: 0\n    \
                   host-overrides:\n      nitter.net:\n        poll-delay-seconds: 3\n";
    let show = |arguments: &[&str]| {
        let arguments = [&["config", "show", "--config", "own.yaml"], arguments].concat();
        Bench::new(&arguments).file("own.yaml", example).variable("FEEDWARDEN__APP__SOURCE__MAX_FAILURES", "15").run()
    };
    let answer = show(&["--json", "--set", "app.source.max-backoff-hours=6"]);
    assert_eq!(answer.shown("source.host-overrides.nitter.net.poll-delay-seconds"), (3.into(), "file".into()));
    assert_eq!(answer.shown("source.poll-delay-seconds.website"), (2.into(), "file".into()));
    assert_eq!(answer.shown("source.max-failures"), (15.into(), "environment".into()));
    assert_eq!(answer.shown("source.max-backoff-hours"), (6.into(), "set".into()));
    let answer = show(&[]);
    assert!(!answer.output.lines().any(|line| line.starts_with("app")), "{}", answer.output);
    let line = answer.output.lines().find(|line| line.contains("nitter.net")).unwrap();
    assert!(line.ends_with("file own.yaml line 9"), "{line}");
}

#[rstest]
#[case::value(
    "app:\n  source:\n    max-failures: many\n",
    "app.source.max-failures (file own.yaml line 3): \"many\" is not"
)]
#[case::typing(
    "app:\n  source:\n    max-failure: 3\n",
    "app.source.max-failure (file own.yaml line 3): there is no such key; did you mean app.source.max-failures?"
)]
#[case::unknown(
    "app:\n  nonsense: podcasts\n",
    "app.nonsense (file own.yaml line 2): there is no such key; `feedwarden config show`"
)]
#[case::section("app: 3\n", "app (file own.yaml line 1): this is a section, not a key")]
#[case::host(
    "app: {source: {host-overrides: {nitter.net: 3}}}",
    "did you mean app.source.host-overrides.nitter.net.poll-delay"
)]
#[case::nested(
    "app: {app: {source: {max-failures: 3}}}",
    "app.app.source.max-failures (file own.yaml line 1): there is no such key"
)]
#[case::twice(
    "app:\n  source:\n    max-failures: 3\nsource:\n  max-failures: 4\n",
    "source.max-failures (file own.yaml line 5): source.max-failures is given twice, here and as \
     app.source.max-failures (file own.yaml line 3); keep one"
)]
fn s1005_what_is_wrong_below_app_is_refused_at_its_line(#[case] content: &str, #[case] remedy: &str) {
    check_file(content).refused(&["feedwarden: the configuration has a mistake:\n", remedy]);
}

#[test]
fn s1005_two_variables_for_one_key_are_both_named() {
    let bench = Bench::new(&["config", "check"]).variable("FEEDWARDEN__APP__SOURCE__MAX_FAILURES", "3");
    bench.variable("FEEDWARDEN__SOURCE__MAX_FAILURES", "4").run().refused(&[
        "source.max-failures (environment variable FEEDWARDEN__SOURCE__MAX_FAILURES)",
        "as app.source.max-failures (environment variable FEEDWARDEN__APP__SOURCE__MAX_FAILURES); keep one",
    ]);
}

#[test]
fn all_mistakes_of_all_layers_are_told_at_once() {
    let answer =
        Bench::new(&["config", "check", "--config", "own.yaml", "--set", "http.proxy=ftp://x", "--set", "nonsense"])
            .file(
                "own.yaml",
                "source:\n  max-failure: 3\n  max-backoff-hours: soon\nhttp:\n  allowed-networks: [10.0.0.0/99]\n",
            )
            .variable("FEEDWARDEN__SCHEDULER__TICK_SECONDS", "0")
            .variable("FEEDWARDEN__SCHEDULER__TOCK_SECONDS", "1")
            .variable("FEEDWARDEN_LOGGING_LEVEL", "debug")
            .run();
    answer.refused(&[
        "feedwarden: the configuration has 8 mistakes:\n",
        "source.max-failure (file own.yaml line 2): there is no such key; did you mean source.max-failures?",
        "source.max-backoff-hours (file own.yaml line 3): \"soon\" is not a whole number; write a whole number from 1 to 8760",
        "http.allowed-networks (file own.yaml line 5): \"10.0.0.0/99\" is not a network",
        "scheduler.tick-seconds (environment variable FEEDWARDEN__SCHEDULER__TICK_SECONDS): 0 is out of bounds",
        "(environment variable FEEDWARDEN__SCHEDULER__TOCK_SECONDS): there is no such key; did you mean scheduler.tick-seconds?",
        "environment variable FEEDWARDEN_LOGGING_LEVEL: this is not read; sections are parted by two underscores: FEEDWARDEN__LOGGING__LEVEL",
        "http.proxy (--set): \"ftp://x\" is not a proxy",
        "--set: \"nonsense\" is not followed by =",
    ]);
}

#[rstest]
#[case::human(&["config", "show"])]
#[case::json(&["config", "show", "--json"])]
#[case::check(&["config", "check"])]
fn no_secret_is_ever_shown(#[case] arguments: &[&str]) {
    let answer = Bench::new(arguments)
        .variable("FEEDWARDEN__DATABASE__URL", "postgres://me:pass-w0rd@db.example/feeds")
        .variable("FEEDWARDEN__DATABASE__ENCRYPTION_KEY", KEY)
        .variable("FEEDWARDEN__API__JWT_SECRET", JWT_SECRET)
        .variable("FEEDWARDEN__HTTP__PROXY", "http://me:pr0xy-word@proxy.example:3128")
        .run();
    assert_eq!((answer.code, answer.errors.as_str()), (0, ""));
    answer.keeps(&["pass-w0rd", KEY, "hunter2", "pr0xy-word"]);
    if arguments.contains(&"show") {
        for shown in
            ["postgres://me:********@db.example/feeds", "http://me:********@proxy.example:3128/", "\"********\""]
        {
            assert!(answer.output.contains(shown), "{shown} is missing in:\n{}", answer.output);
        }
    }
}

#[test]
fn no_secret_is_told_by_an_error() {
    let answer = Bench::new(&["config", "check", "--config", "own.yaml", "--set", "api.jwt_secret=hunter2", "--set", "api.jwt-secret:hunter2"])
        .file("own.yaml", "api:\n  jwt-secret: 424242\ndatabase:\n  url: postgres://me:hunter2@db:port/feeds\n  encryption-key: [hunter2]\n")
        .variable("FEEDWARDEN__DATABASE__ENCRYPTION_KEY", "hunter2")
        .variable("FEEDWARDEN__HTTP__PROXY", "ftp://me:hunter2@proxy")
        .run();
    answer.refused(&["7 mistakes", "did you mean api.jwt-secret?", "this is not text; put it in quotes"]);
    answer.keeps(&["hunter2", "424242"]);
}

#[test]
fn a_key_may_live_in_a_file_and_must_then_be_right() {
    let bench = |content: &str| {
        Bench::new(&["config", "check", "--set", "database.encryption-key-file=key"]).file("key", content).run()
    };
    assert_eq!((bench(&format!("{KEY}\n")).code, bench(KEY).output.as_str()), (0, "ok\n"));
    let wrong = bench("hunter2");
    wrong.refused(&["database.encryption-key-file (--set): in key: this is ", "32 bytes in Base64"]);
    wrong.keeps(&["hunter2"]);
    let missing = Bench::new(&["config", "check", "--set", "api.jwt-secret-file=nowhere"]).run();
    missing.refused(&["api.jwt-secret-file (--set): nowhere cannot be read: No such file"]);
}

#[rstest]
#[case::empty("")]
#[case::comments("# nothing\n")]
#[case::empty_sections("source:\nhttp: {}\nsource.rest:\n")]
#[case::byte_order_mark("\u{feff}source: {max-failures: 3}\n")]
#[case::windows("source:\r\n  max-failures: 3\r\n")]
fn a_file_that_says_little_is_fine(#[case] content: &str) {
    let answer = check_file(content);
    assert_eq!((answer.code, answer.output.as_str(), answer.errors.as_str()), (0, "ok\n", ""));
}

#[rstest]
#[case::list("- source\n", "file own.yaml: holds no sections")]
#[case::scalar("hello", "file own.yaml: holds no sections")]
#[case::tab("source:\n\tmax-failures: 3\n", "(there is a tab: YAML is indented with spaces)")]
#[case::duplicate(
    "source:\n  max-failures: 3\n  max-failures: 4\n",
    "file own.yaml: line 3 is not YAML: \"max-failures\": duplicated key in mapping"
)]
#[case::alias("source: &a {}\nhttp: *a\n", "file own.yaml: line 2 has an alias (*); write the value itself")]
#[case::two_documents("source: {}\n---\nhttp: {}\n", "2 YAML documents")]
#[case::not_utf8(b"source: \xff\n", "file own.yaml: is not UTF-8 text: byte 9 is wrong")]
#[case::yes("http: {allow-private-networks: yes}", "\"yes\" is neither true nor false; write true, without quotes")]
#[case::underscores("http: {body-bytes-max: 20_000_000}", "without separators: 20000000")]
#[case::unit(
    "source: {max-backoff-hours: 24h}",
    "\"24h\" is not a whole number; write a whole number from 1 to 8760, without a unit"
)]
#[case::negative("source: {max-failures: -1}", "-1 is out of bounds")]
#[case::fraction("source: {max-failures: 1.5}", "1.5 is not a whole number")]
#[case::enormous("source: {max-failures: 99999999999999999999999}", "source.max-failures (file own.yaml line 1)")]
#[case::quoted("source: {max-failures: \"3\"}", "write 3 without the quotes")]
#[case::nothing("source: {max-failures: }", "nothing is not a whole number")]
#[case::section("source: 3", "source (file own.yaml line 1): this is a section, not a key")]
#[case::too_deep(
    "source: {max-failures: {most: 3}}",
    "source.max-failures (file own.yaml line 1): a section is not a whole number"
)]
#[case::level("logging: {level: loud}", "\"loud\" is none of critical, error, warn, info, debug, trace")]
#[case::scalar_for_list(
    "http: {allowed-networks: 10.0.0.0/8}",
    "\"10.0.0.0/8\" is not a list; write one such as [10.1.0.0/16]"
)]
#[case::host(
    "source: {host-overrides: {\"http://nitter.net\": {poll-delay-seconds: 3}}}",
    "write the host alone: nitter.net"
)]
#[case::host_twice(
    "source: {host-overrides: {a.example: {poll-delay-seconds: 3}, A.example: {poll-delay-seconds: 4}}}",
    "source.host-overrides.a.example.poll-delay-seconds is given twice"
)]
#[case::host_alone(
    "source: {host-overrides: {a.example: 3}}",
    "did you mean source.host-overrides.a.example.poll-delay-seconds?"
)]
#[case::address("http: {static-hosts: {a.example: b.example}}", "\"b.example\" is not an IP address")]
#[case::listen("api: {listen: \"8080\"}", "write one such as 127.0.0.1:8080")]
#[case::contact("http: {contact-url: me}", "write an https://, http:// or mailto: address")]
#[case::browser("http: {user-agent: \"mozilla/5.0\"}", "pretends to be a browser")]
#[case::intervals(
    "source: {interval-min-minutes: 90, interval-max-minutes: 60}",
    "90 is more than source.interval-max-minutes (60, file own.yaml"
)]
#[case::no_requests(
    "source: {requests-per-hour: 0}",
    "0 is out of bounds; write a whole number from 1 to 100000000, or"
)]
#[case::interval("source: {interval: 30}", "adaptive, fixed")]
#[case::short_key("database: {encryption-key: AAAA}", "this is Base64 of 3 bytes; write 32 bytes in Base64")]
fn what_operators_get_wrong_is_refused_with_a_remedy(#[case] content: impl AsRef<[u8]>, #[case] remedy: &str) {
    check_file(content).refused(&["feedwarden: the configuration has a mistake:\n", remedy]);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let missing = Bench::new(&["config", "check", "--config", "nowhere.yaml"]).run();
    missing.refused(&["file nowhere.yaml: cannot be read: No such file or directory"]);
    let directory = Bench::new(&["config", "check", "--config", "."]).run();
    directory.refused(&["file .: is a directory; name a file"]);
    let large = check_file(vec![b'#'; 1024 * 1024 + 1]);
    large.refused(&["file own.yaml: is larger than 1048576 bytes"]);
}

#[rstest]
#[case::empty("FEEDWARDEN__", "environment variable FEEDWARDEN__: this names no key")]
#[case::section("FEEDWARDEN__SOURCE", "source (environment variable FEEDWARDEN__SOURCE): this is a section")]
#[case::one_underscore("FEEDWARDEN__SOURCE_MAX_FAILURES", "did you mean source.max-failures?")]
#[case::typing("FEEDWARDEN__SOURCE__MAX_FAILURE", "did you mean source.max-failures?")]
fn a_variable_with_a_bad_name_is_refused(#[case] name: &str, #[case] complaint: &str) {
    Bench::new(&["config", "check"]).variable(name, "3").run().refused(&[complaint]);
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let mut bench = Bench::new(&["config", "check"]);
    bench.command.env("FEEDWARDEN__LOGGING__FILE", std::ffi::OsStr::from_bytes(b"\xff"));
    bench.run().refused(&["environment variable FEEDWARDEN__LOGGING__FILE: the value is not UTF-8 text"]);
}

#[test]
fn variables_of_other_programs_do_no_harm() {
    let bench = Bench::new(&["config", "check"]);
    let answer = bench.variable("FEEDWARDEN_SERVICE_HOST", "10.0.0.1").variable("FEEDWARDEN", "x").run();
    assert_eq!((answer.code, answer.errors.as_str()), (0, ""));
}

#[test]
fn every_command_refuses_a_wrong_configuration() {
    for arguments in [&["run"][..], &["config", "show"], &["config", "show", "--json"], &["config", "check"]] {
        Bench::new(&[arguments, &["--set", "source.max-failures=0"]].concat()).run().refused(&["source.max-failures"]);
    }
}

#[rstest]
#[case(&[])]
#[case(&["confg"])]
#[case(&["config"])]
#[case(&["run", "--sett", "a=1"])]
#[case(&["config", "check", "--config", "a", "--config", "b"])]
fn a_wrong_command_line_ends_with_code_2_and_keeps_standard_output_clean(#[case] arguments: &[&str]) {
    let answer = Bench::new(arguments).run();
    assert_eq!((answer.code, answer.output.as_str()), (2, ""));
    assert!(answer.errors.contains("Usage: feedwarden"), "{}", answer.errors);
}

#[test]
fn help_and_version_are_data() {
    for (argument, part) in [("--help", "Exit codes: 0 success"), ("--version", env!("CARGO_PKG_VERSION"))] {
        let answer = Bench::new(&[argument]).run();
        assert_eq!((answer.code, answer.errors.as_str()), (0, ""));
        assert!(answer.output.contains(part), "{}", answer.output);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_a_failure_and_not_a_crash() {
    let mut bench = Bench::new(&["config", "show"]);
    bench.command.stdout(std::fs::File::options().write(true).open(Path::new("/dev/full")).unwrap());
    let answer = bench.run();
    assert_eq!(answer.code, 1);
    assert!(answer.errors.starts_with("feedwarden: standard output cannot be written"), "{}", answer.errors);
}

#[test]
fn the_environment_names_the_file() {
    let shown = Bench::new(&["config", "show", "--json"])
        .file("own.yaml", "source:\n  max-failures: 3\n")
        .variable("FEEDWARDEN_CONFIG", "own.yaml")
        .run();
    assert_eq!(shown.shown("source.max-failures"), (3.into(), "file".into()));
    let missing = Bench::new(&["config", "check"]).variable("FEEDWARDEN_CONFIG", "missing.yaml").run();
    assert!(missing.code == 2 && missing.errors.contains("missing.yaml"), "{}", missing.errors);
    let both = Bench::new(&["config", "show", "--json", "--config", "own.yaml"])
        .file("own.yaml", "source:\n  max-failures: 4\n")
        .variable("FEEDWARDEN_CONFIG", "missing.yaml")
        .run();
    assert_eq!(both.shown("source.max-failures"), (4.into(), "file".into()), "the command line comes first");
}

#[test]
fn the_users_file_is_read_without_being_named_if_it_exists() {
    let bench = Bench::new(&["config", "show", "--json"]);
    let home = bench.directory.path().display().to_string();
    let none = bench.variable("HOME", &home).run();
    assert_eq!(none.shown("source.max-failures").1, "built-in");
    let bench = Bench::new(&["config", "show", "--json"]);
    let home = bench.directory.path().display().to_string();
    std::fs::create_dir_all(bench.path(".config/feedwarden")).unwrap();
    let shown =
        bench.file(".config/feedwarden/feedwarden.yaml", "source:\n  max-failures: 3\n").variable("HOME", &home).run();
    assert_eq!(shown.shown("source.max-failures"), (3.into(), "file".into()));
}

#[test]
fn init_writes_every_key_with_its_default_and_keeps_a_file_that_exists() {
    let bench = Bench::new(&["config", "init"]);
    let home = bench.directory.path().to_owned();
    let keep = bench.directory;
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_feedwarden"));
        command.env_clear().env("HOME", &home).current_dir(&home).args(arguments);
        Bench { directory: tempfile::tempdir().unwrap(), command }.run()
    };
    let file = home.join(".config/feedwarden/feedwarden.yaml");
    let written = run(&["config", "init"]);
    assert_eq!((written.code, written.output), (0, format!("{} is written\n", file.display())));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(&file).unwrap();

    // As it is written, it sets nothing.
    let shown: Vec<Value> = serde_json::from_str(&run(&["config", "show", "--json"]).output).unwrap();
    assert!(shown.iter().all(|row| row["origin"]["layer"] == "built-in"), "{shown:?}");
    // Uncommenting one line sets one key.
    std::fs::write(&file, text.replacen("#max-failures: ", "max-failures: 1", 1)).unwrap();
    let shown = run(&["config", "show", "--json"]);
    assert_eq!(shown.shown("source.max-failures").1, "file", "{}", shown.errors);
    // Uncommenting all of them sets the defaults.
    let all: String = text
        .lines()
        .map(|line| match line.trim_start().strip_prefix('#') {
            Some(key) if !key.starts_with(' ') && !key.is_empty() => line.replacen('#', "", 1) + "\n",
            _ => line.to_owned() + "\n",
        })
        .collect();
    std::fs::write(&file, all).unwrap();
    let again: Vec<Value> = serde_json::from_str(&run(&["config", "show", "--json"]).output).unwrap();
    assert!(again.iter().filter(|row| row["origin"]["layer"] == "built-in").count() == 0, "{again:?}");

    let kept = run(&["config", "init"]);
    assert_eq!(kept.code, 5, "{}", kept.errors);
    assert!(kept.errors.contains("exists already"), "{}", kept.errors);
    assert_eq!(run(&["config", "init", "-"]).output, text);
    drop(keep);
}
