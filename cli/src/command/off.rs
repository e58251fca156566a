//! `throughline off`: turns Throughline off, for a period or until `throughline on`.

use std::fs;
use std::io::Write;

use clap::Args;
use memory_store::Timestamp;
use memory_store::store::{Privacy, replace};
use serde::Serialize;

use crate::failure::Result;
use crate::typed::WriteOptions;
use crate::view::{self, clock};
use crate::world::World;

pub mod duration;

/// Pause recall and learning
#[derive(Debug, Args)]
pub struct OffArgs {
    /// Duration of the pause, such as 30m, 2h or 1d [default: until `throughline on`]
    #[arg(long = "for", value_name = "DURATION", value_parser = self::duration::parse)]
    duration_ms: Option<i64>,
    #[command(flatten)]
    write: WriteOptions,
}

impl OffArgs {
    /// Returns whether the command makes a decision that only the person may make.
    pub fn decides(&self, _: &World) -> bool {
        !self.write.dry_run
    }
}

/// State of `throughline off`.
#[derive(Serialize)]
pub struct Silence {
    /// Whether Throughline is turned off.
    pub off: bool,
    /// End of the period; `None` if Throughline is off until further notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Runs the command.
pub fn run(args: &OffArgs, world: &World, out: &mut dyn Write) -> Result {
    let until = args.duration_ms.map(|span_ms| Timestamp(world.now.0.saturating_add(span_ms)));
    if args.write.dry_run {
        let end = until.map_or("`throughline on`".to_owned(), clock::time);
        return view::would(&[format!("silence everything until {end}")], args.write.json, out);
    }
    let file = world.dirs.off_file();
    let text = until.map_or_else(String::new, |until| format!("{until}\n"));
    // The file is replaced atomically, since a hook may read it at any moment.
    replace(&file, text.as_bytes(), Privacy::Private)?;
    if args.write.json {
        return view::json(&Silence { off: true, until }, out);
    }
    match until {
        Some(until) => {
            writeln!(out, "Off until {}. `throughline on` ends it earlier.", clock::time(until))?;
        }
        None => writeln!(out, "Off until `throughline on`.")?,
    }
    Ok(())
}

/// Returns the end of `throughline off` if it is in effect. `Some(None)` means until further notice.
pub fn until(world: &World) -> Option<Option<Timestamp>> {
    let text = fs::read_to_string(world.dirs.off_file()).ok()?;
    let until = Timestamp::parse(&text);
    until.is_none_or(|until| until > world.now).then_some(until)
}
