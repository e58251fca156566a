//! `throughline merge-driver`: merges two versions of a memory file for git, front matter key by key.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use memory_store::file::{FILE_BYTES_MAX, MergedFront, merge};
use memory_store::store::read_bounded;
use processor::git::memories::{MergedText, Versions, merge_texts};

use crate::failure::{AtPath as _, Failure, Result};
use crate::world::World;

/// Labels of the three versions in conflict markers.
const LABELS: [&str; 3] = ["ours", "base", "theirs"];

/// Merge two versions of a memory file, as a git merge driver
///
/// `throughline init --with merge-driver` registers it. Fields are merged by key, the text by lines. The result
/// replaces OURS; exit code 1 reports conflicts. Fields with conflicts keep our value and are listed above the text.
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct MergeDriverArgs {
    /// Common ancestor (%O)
    base: PathBuf,
    /// Our version, replaced by the result (%A)
    ours: PathBuf,
    /// Their version (%B)
    theirs: PathBuf,
    /// Length of conflict markers (%L)
    #[arg(long, value_name = "COUNT", default_value_t = 7, allow_negative_numbers = true, value_parser = crate::typed::count)]
    marker_size: usize,
    /// Report conflicts without writing the result
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub fn run(args: &MergeDriverArgs, world: &World, out: &mut dyn Write) -> Result {
    let at = |path: &Path| world.cwd.join(path);
    let (base, ours, theirs) = (at(&args.base), at(&args.ours), at(&args.theirs));
    let versions = Versions { ours: &ours, base: &base, theirs: &theirs };
    let merged = match fields(versions)? {
        Some(front) => args.whole(world, &front)?,
        None => args.lines(world, versions)?,
    };
    if args.dry_run {
        let word = if merged.has_conflicts { "with conflicts" } else { "without conflicts" };
        writeln!(out, "Would merge {word}.")?;
    } else {
        fs::write(&ours, &merged.text).at(&ours)?;
    }
    match merged.has_conflicts {
        // The failure has no message, since git itself prints the name of the file.
        true => Err(Failure::silent(crate::exit::FAILED)),
        false => Ok(()),
    }
}

/// Merges the fields of the front matter; `None` if the files have to be merged as plain text.
fn fields(versions: Versions<'_>) -> Result<Option<MergedFront>> {
    let read = |path: &Path| -> Result<Option<String>> {
        // A missing or unreadable file is an error, while a file with an invalid memory is merged as text.
        fs::metadata(path).named(path)?;
        let bytes = read_bounded(path, FILE_BYTES_MAX).ok();
        Ok(bytes.and_then(|(bytes, _)| String::from_utf8(bytes).ok()))
    };
    let (base, ours, theirs) = (read(versions.base)?, read(versions.ours)?, read(versions.theirs)?);
    Ok(ours
        .zip(theirs)
        .and_then(|(ours, theirs)| merge(base.as_deref().unwrap_or_default(), &ours, &theirs)))
}

impl MergeDriverArgs {
    fn lines(&self, world: &World, versions: Versions<'_>) -> Result<MergedText> {
        merge_texts(&world.cwd, versions, LABELS, self.marker_size).ok_or_else(|| {
            Failure::new("git merges these files not: `git merge-file` failed")
                .hint("The file is as it was; merge it by hand.")
        })
    }

    /// Merges the text below the front matter, and combines it with the merged fields.
    fn whole(&self, world: &World, front: &MergedFront) -> Result<MergedText> {
        let temp = std::env::temp_dir();
        let folder =
            tempfile::Builder::new().prefix("throughline-merge-").tempdir_in(&temp).at(&temp)?;
        let put = |name: &str, text: &str| -> Result<PathBuf> {
            let path = folder.path().join(name);
            fs::write(&path, text).at(&path)?;
            Ok(path)
        };
        let ours = put("ours", &front.ours)?;
        let (base, theirs) = (put("base", &front.base)?, put("theirs", &front.theirs)?);
        let versions = Versions { ours: &ours, base: &base, theirs: &theirs };
        let body = self.lines(world, versions)?;
        let body_text = String::from_utf8_lossy(&body.text);
        let text = front.with_body(&body_text, LABELS, self.marker_size);
        let has_conflicts = body.has_conflicts || front.has_conflicts;
        Ok(MergedText { text: text.into_bytes(), has_conflicts })
    }
}
