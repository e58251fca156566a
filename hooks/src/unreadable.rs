//! Messages about Throughline's folders that cannot be read, with the remedy. Such folders belong to another user after
//! a run with `sudo` or in a container.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use memory_store_base::fs::process::{is_of_user, user};
use memory_store_base::layout::{Tree, UserDirs};

use crate::event::{Event, EventKind};
use crate::output::HookOutput;

/// Answers the start of a session in a project if the state folder cannot be read. It is then unknown whether
/// Throughline is switched off, so nothing else is injected.
pub fn answer(dirs: &UserDirs, event: &Event) -> HookOutput {
    let is_start = matches!(event.what, EventKind::SessionStart(_)) && event.agent.is_none();
    let is_closed = || is_denied(&fs::metadata(dirs.off_file()));
    let is_project = || Tree::locate(dirs, &event.cwd).is_some();
    let message = (is_start && is_closed() && is_project()).then(|| message(&dirs.state));
    HookOutput { message, ..HookOutput::default() }
}

/// Returns whether a result is an error caused by missing permission.
pub fn is_denied<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == ErrorKind::PermissionDenied)
}

/// Returns a message for the person about a folder of Throughline that cannot be read.
pub fn message(folder: &Path) -> String {
    let name = folder.display();
    let is_foreign = fs::metadata(folder).is_ok_and(|found| !is_of_user(&found));
    let (why, remedy) = match is_foreign {
        true => ("it belongs to another user", format!("sudo chown -R {} {name}", user())),
        false => ("permission denied", format!("chmod -R u+rwX {name}")),
    };
    format!(
        "Throughline: {name} cannot be read, so that nothing is recalled: {why}. Run `{remedy}`."
    )
}
