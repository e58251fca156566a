//! `throughline man`: prints manual pages, one for each command.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;

use super::Args as CommandLine;
use crate::exit;
use crate::failure::{AtPath as _, Result};
use crate::help;
use crate::world::World;

/// Write manual pages
///
/// Without a folder, prints the page of `throughline`.
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct ManPages {
    /// Folder for the pages, such as ~/.local/share/man/man1
    dir: Option<PathBuf>,
    /// Report the changes without making them
    #[arg(long, requires = "dir")]
    dry_run: bool,
}

/// Prefixes of the lines of a manual page that define the apostrophe.
const APOSTROPHE: [&[u8]; 2] = [b".ie \\n(.g ", b".el .ds Aq "];

/// Runs the command.
pub fn run(args: &ManPages, _: &World, out: &mut dyn Write) -> Result {
    let mut command = CommandLine::command().disable_help_subcommand(true);
    command.build();
    let Some(dir) = &args.dir else {
        out.write_all(&page(&command, "")?)?;
        return Ok(());
    };
    let mut pages = Vec::new();
    collect(&command, "", &mut pages)?;
    if args.dry_run {
        let told = format!("write {} manual pages into {}", pages.len(), crate::view::path(dir));
        return crate::view::would(&[told], false, out);
    }
    fs::create_dir_all(dir).at(dir)?;
    for (name, page) in pages {
        let file = dir.join(name);
        fs::write(&file, page).at(&file)?;
    }
    Ok(writeln!(out, "Wrote the manual pages into {}.", crate::view::path(dir))?)
}

/// Adds the page of a command and the pages of its subcommands. `path` is the command line without `throughline`.
fn collect(command: &Command, path: &str, pages: &mut Vec<(String, Vec<u8>)>) -> Result {
    pages.push((Man::new(command.clone()).get_filename(), page(command, path)?));
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let path = format!("{path} {}", below.get_name());
        collect(below, path.trim_start(), pages)?;
    }
    Ok(())
}

/// Renders a page.
fn page(command: &Command, path: &str) -> Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut sections = Vec::new();
    man.render_title(&mut sections)?;
    man.render_name_section(&mut sections)?;
    man.render_synopsis_section(&mut sections)?;
    man.render_description_section(&mut sections)?;
    man.render_options_section(&mut sections)?;
    if command.get_subcommands().any(|command| !command.is_hide_set()) {
        man.render_subcommands_section(&mut sections)?;
    }
    let mut page = once(&sections);
    if let Some(examples) = help::examples(path) {
        section("EXAMPLES", &examples.map(|example| format!("throughline {example}")), &mut page);
    }
    if path.is_empty() {
        let variables = help::ENVIRONMENT.map(|(name, does)| format!("{name}: {does}"));
        section("ENVIRONMENT", &variables, &mut page);
    }
    let codes = exit::TABLE.map(|(code, _, meaning)| format!("{code}  {meaning}"));
    section("EXIT STATUS", &codes, &mut page);
    if !path.is_empty() {
        section("SEE ALSO", &["throughline(1)".to_owned()], &mut page);
    }
    Ok(page)
}

/// Keeps only the first definition of the apostrophe, since the renderer repeats the definition in each section.
fn once(sections: &[u8]) -> Vec<u8> {
    let mut page = Vec::new();
    for line in sections.split_inclusive(|byte| *byte == b'\n') {
        let defines = APOSTROPHE.iter().any(|start| line.starts_with(start));
        if !defines || !page.windows(line.len()).any(|known| known == line) {
            page.extend_from_slice(line);
        }
    }
    page
}

/// Adds a section whose lines are not filled.
fn section(heading: &str, lines: &[String], page: &mut Vec<u8>) {
    page.extend_from_slice(format!(".SH \"{heading}\"\n.nf\n").as_bytes());
    for line in lines {
        // In roff, a backslash starts an escape, a bare dash is a hyphen, and a dot or a quote at the start of a line
        // is a request.
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        page.extend_from_slice(format!("\\&{line}\n").as_bytes());
    }
    page.extend_from_slice(b".fi\n");
}
