//! Starting the processor as a separate process that shares nothing with the session.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use memory_store_base::ProjectId;
use memory_store_base::background::{PROGRAM, is_passed_on};

use crate::{platform, program};

/// Starts the processor for a project without waiting for it. `moved_to` is a working tree of the project that was
/// moved and has no record at its new path yet.
pub fn start(project: ProjectId, moved_to: Option<&Path>) -> io::Result<()> {
    let program = program::path().ok_or(io::ErrorKind::NotFound)?.with_file_name(PROGRAM);
    let project = project.to_string();
    let mut arguments = ["sync", "--project", &project, "--background"].map(OsStr::new).to_vec();
    if let Some(root) = moved_to {
        arguments.extend([OsStr::new("--tree"), root.as_os_str()]);
    }
    let passed_on = std::env::vars_os().filter(|(name, _)| is_passed_on(name));
    let environment = passed_on.map(|(mut name, value)| {
        name.push("=");
        name.push(value);
        name
    });
    platform::spawn_detached(&program, &arguments, environment)
}
