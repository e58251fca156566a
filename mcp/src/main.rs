//! The MCP server, over stdin and stdout.

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use mcp::background::{Background, LOOK_EVERY};
use mcp::environment::Environment;
use mcp::local::Local;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("--version") {
        print_version();
        return ExitCode::SUCCESS;
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            tell(&message);
            ExitCode::FAILURE
        }
    }
}

/// A client may have closed stderr: then nobody is told.
fn tell(message: &str) {
    drop(writeln!(std::io::stderr(), "throughline-mcp: {message}"));
}

#[expect(clippy::print_stdout, reason = "the one thing printed outside of the protocol")]
fn print_version() {
    println!("throughline-mcp {}", env!("CARGO_PKG_VERSION"));
}

fn run() -> Result<(), String> {
    let cwd = std::env::current_dir().map_err(|error| format!("the current folder: {error}"))?;
    let environment = Environment::read(|name| std::env::var_os(name), cwd)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime: {error}"))?;
    let result = runtime.block_on(async {
        let looking = tokio::spawn(look_for_work(environment.clone()));
        let result = mcp::server::serve(Arc::new(Local::new(environment)), tell).await;
        looking.abort();
        result
    });
    // A read of stdin that never ends must not keep the process.
    runtime.shutdown_background();
    result
}

/// Starts the processor when finished turns wait, as long as the server lives.
async fn look_for_work(environment: Environment) {
    let mut background = Background::new(None);
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Err(error) = background.look(&environment) {
            tell(&format!("the processor could not be started: {error}"));
        }
    }
}
