//! Syncs a folder of transcripts into a separate project in a temporary folder, and prints the time: `sync_folder
//! TRANSCRIPTS [HOME]`. With HOME, the result is stored there and kept.

#![expect(clippy::print_stdout, reason = "printing is its purpose")]

use std::path::PathBuf;

use anyhow::{Context, Result};
use memory_store::Timestamp;
use memory_store::identity::{self, Mode, Observed};
use memory_store::layout::UserDirs;
use processor::lock::Busy;
use processor::sync::{SyncOptions, sync};

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = arguments.next().context("which folder of transcripts?")?;
    let temporary = tempfile::tempdir()?;
    let home = arguments.next().unwrap_or_else(|| temporary.path().to_owned());
    let dirs = UserDirs::resolve(|name| (name == "HOME").then(|| home.clone().into_os_string()))
        .context("HOME must be absolute")?;
    let root = home.join("work");
    std::fs::create_dir_all(&root)?;
    let now = Timestamp::parse("2026-11-21T12:00:00Z").context("a time")?;
    let tree = identity::vouch(
        &dirs,
        &Observed { root, ..Observed::default() },
        Some(Mode::Committed),
        [7; 16],
        now,
    )?;
    for _ in 0..2 {
        let options =
            SyncOptions { from: Some(&folder), ..SyncOptions::new(&dirs, &tree, Busy::Leave, now) };
        println!("{}", serde_json::to_string_pretty(&sync(&options)?)?);
    }
    Ok(())
}
