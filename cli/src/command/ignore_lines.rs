//! Lines that keep a committed memory folder out of packages: offered by `init`, written with `--with ignore-lines`,
//! taken out by `uninstall`.

use std::io::Write;
use std::path::Path;

use memory_store::identity::Mode;

use crate::failure::Result;
use crate::packages::{self, IgnoreLine};
use crate::style::{CARE, paint};
use crate::world::World;

/// Shows each line that is lacking, and how it is written.
pub fn offer(lines: &[IgnoreLine], out: &mut dyn Write) -> Result {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "  {} A package made here would hold the memories. `throughline init --with ignore-lines` writes:",
        paint(CARE, "!")
    )?;
    for IgnoreLine { file, line, .. } in lines {
        writeln!(out, "    {:<24} {line}", file.display())?;
    }
    Ok(())
}

/// Writes the lines that are lacking.
pub fn put(world: &World, root: &Path, mode: Mode, out: &mut dyn Write) -> Result {
    if mode == Mode::Private {
        writeln!(out, "  ignore line none is needed: memories are not in the repository")?;
        return Ok(());
    }
    let lines = packages::lacking(root);
    if lines.is_empty() {
        writeln!(out, "  ignore line none is lacking")?;
    }
    for line in lines {
        let path = packages::put(&world.dirs, root, &line)?;
        writeln!(out, "  ignore line {} in {}", line.line, path.display())?;
    }
    Ok(())
}

/// Takes the lines out that were written.
pub fn take_out(world: &World, out: &mut dyn Write) -> Result {
    for path in packages::take_out(&world.dirs)? {
        writeln!(out, "Taken out of {}", path.display())?;
    }
    Ok(())
}
