//! Says that our own folders cannot be read, and what helps: they belong to another user after a run by `sudo` or in a
//! container.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Returns whether a result says that reading is not allowed.
pub fn is_denied<T>(result: &io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == ErrorKind::PermissionDenied)
}

/// Returns the line for the user about one of our folders that cannot be read.
pub fn message(folder: &Path) -> String {
    let name = folder.display();
    // SAFETY: the call takes and changes nothing.
    let user = unsafe { libc::geteuid() };
    let is_foreign = fs::metadata(folder).is_ok_and(|found| found.uid() != user);
    let (why, remedy) = match is_foreign {
        true => ("it belongs to another user", format!("sudo chown -R {user} {name}")),
        false => ("permission denied", format!("chmod -R u+rwX {name}")),
    };
    format!(
        "Throughline: {name} cannot be read, so that nothing is recalled: {why}. Run `{remedy}`."
    )
}
