//! `throughline on`: ends `throughline off`.

use std::fs;
use std::io::{ErrorKind, Write};

use clap::Args;
use memory_store::mode::Mode;

use super::off::Silence;
use crate::failure::{AtPath as _, Result};
use crate::typed::WriteOptions;
use crate::view;
use crate::world::World;

/// Resume recall and learning
#[derive(Debug, Args)]
pub struct OnArgs {
    #[command(flatten)]
    write: WriteOptions,
}

impl OnArgs {
    /// Returns whether the command makes a decision that only the person may make.
    pub fn decides(&self, _: &World) -> bool {
        !self.write.dry_run
    }
}

/// Runs the command.
pub fn run(args: &OnArgs, world: &World, out: &mut dyn Write) -> Result {
    let file = world.dirs.off_file();
    if args.write.dry_run {
        let told = file.exists().then(|| "end the silence".to_owned());
        return view::would(told.as_slice(), args.write.json, out);
    }
    let told = match fs::remove_file(&file) {
        Ok(()) => "On again.",
        Err(error) if error.kind() == ErrorKind::NotFound => match world.mode {
            Mode::Off => {
                "`throughline off` is not in force. The variable THROUGHLINE silences: unset it."
            }
            Mode::Read | Mode::Full => "It was on.",
        },
        Err(error) => return Err(error).at(&file),
    };
    if args.write.json {
        return view::json(&Silence { off: false, until: None }, out);
    }
    Ok(writeln!(out, "{told}")?)
}
