//! The command line described by itself: completions, manual pages, `docs/cli.md`.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use super::arguments::Arguments;
use super::{Exit, complain, print};

/// How wide help is in the document.
const COLUMNS: usize = 100;

/// Which shell.
#[derive(Args, Debug)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

/// Which pages.
#[derive(Args, Debug)]
pub(super) struct Man {
    /// Write a page for each command into this directory, instead of the first page to standard output
    #[arg(long, value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

/// Prints what makes a shell complete our words.
pub(super) fn completions(arguments: &Completions) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "feedwarden", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints or writes manual pages.
pub(super) fn man(arguments: &Man) -> Exit {
    let written = match &arguments.directory {
        None => page(&Arguments::command()).map(|page| print(&page)),
        Some(directory) => {
            let command = Arguments::command().disable_help_subcommand(true);
            clap_mangen::generate_to(command, directory).map(|()| Exit::Success)
        }
    };
    written.unwrap_or_else(|error| {
        complain(&format_args!("manual pages cannot be written: {error}"));
        Exit::Failure
    })
}

/// The whole command line as a Markdown document. A test keeps `docs/cli.md` equal to it.
pub fn reference() -> String {
    let mut text = String::from(
        "# The command line\n\n\
         Made from the program itself by `FEEDWARDEN_UPDATE_DOCS=1 cargo test --test integration cli::reference`; a test \
         fails when it is stale.\nCommands with a section \"The daemon\" ask the running one, through its admin socket or over \
         TCP.\n",
    );
    let mut command = Arguments::command().disable_help_subcommand(true).term_width(COLUMNS);
    command.build();
    describe(&mut text, &mut command);
    text
}

fn describe(text: &mut String, command: &mut Command) {
    let name = command.get_bin_name().unwrap_or("feedwarden").to_owned();
    let help = command.render_help().to_string();
    let help: Vec<&str> = help.lines().map(str::trim_end).collect();
    writeln!(text, "\n## {name}\n\n```text\n{}\n```", help.join("\n").trim()).expect("a String takes every write");
    for inner in command.get_subcommands_mut() {
        describe(text, inner);
    }
}

fn page(command: &Command) -> std::io::Result<String> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
