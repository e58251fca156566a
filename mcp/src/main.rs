//! The MCP server, over stdin and stdout.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use mcp::environment::ServerEnvironment;
use mcp::local::Local;
use mcp::processor_starter::{LOOK_EVERY, ProcessorStarter};
use memory_store::build;
use memory_store::fs::private_folders;
use memory_store::mode::Mode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        None => {}
        Some("--version" | "-V") => {
            return print(&build::version("throughline-mcp", option_env!("THROUGHLINE_COMMIT")));
        }
        Some("--help" | "-h" | "help") => {
            return print(HELP);
        }
        Some(other) => {
            report(&format!("`{other}` is unknown; see `throughline-mcp --help`"));
            return ExitCode::from(2);
        }
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            report(&message);
            ExitCode::FAILURE
        }
    }
}

/// Errors are ignored, since a client may have closed stderr.
fn report(message: &str) {
    drop(writeln!(std::io::stderr(), "throughline-mcp: {message}"));
}

/// Prints a text in place of running the protocol; fails if the text cannot be written, for example because the disk is
/// full.
fn print(text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{text}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

const HELP: &str = "\
Memory of this project for a model that asks: an MCP server over standard input and output.

Usage: throughline-mcp (or throughline mcp), started by a client such as Claude Code

`throughline init` registers it with Claude Code. By hand: claude mcp add throughline -- throughline-mcp

Tools:      recall, remember, forget, search_sessions, status
Prompts:    brief, decided, handoff, tidy
Resources:  throughline://brief, throughline://handoff, throughline://memory/ID

Environment:
  THROUGHLINE=off|read|full   what it may do (read in CI and cloud sessions)
  CLAUDE_PROJECT_DIR          the project's folder; else the folder it is started in
  HOME, XDG_DATA_HOME, XDG_STATE_HOME, XDG_CONFIG_HOME
                              folders of memory: the client must pass them on as set for `init`

Options:
  -h, --help     print this
  -V, --version  print the version";

fn run() -> Result<(), String> {
    let cwd = std::env::current_dir().map_err(|error| format!("the current folder: {error}"))?;
    #[expect(clippy::disallowed_methods, reason = "the environment of the server is read here")]
    let environment = ServerEnvironment::read(|name| std::env::var_os(name), cwd)?;
    if environment.mode() == Mode::Full {
        private_folders::close_outer(&environment.dirs);
    }
    memory_store::fs::process::use_few_pools();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(mcp::THREADS_MAX)
        .build()
        .map_err(|error| format!("the runtime: {error}"))?;
    let result = runtime.block_on(async {
        let looking = tokio::spawn(look_for_work(environment.clone()));
        let result = mcp::server::serve(Arc::new(Local::new(environment))).await;
        looking.abort();
        result
    });
    // A blocked read of stdin must not keep the process running.
    runtime.shutdown_background();
    result
}

/// Starts the processor for unprocessed turns as long as the server runs.
async fn look_for_work(environment: ServerEnvironment) {
    let mut starter = ProcessorStarter::new(None);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Err(error) = starter.look(&environment) {
            report(&format!("the processor could not be started: {error}"));
        }
    }
}
