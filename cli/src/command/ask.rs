//! Questions to the person at the terminal.

use dialoguer::{Confirm, Select};

use crate::failure::{Failure, Result};
use crate::world::World;

/// Asks a question that is answered with yes or no; `default` where nobody can be asked.
pub fn confirm(world: &World, question: &str, default: bool) -> Result<bool> {
    if !world.interactive {
        return Ok(default);
    }
    Confirm::new()
        .with_prompt(question)
        .default(default)
        .interact()
        .map_err(|error| Failure::new(format!("the terminal: {error}")))
}

/// Asks which of some things it is to be; `default` where nobody can be asked.
pub fn choose(world: &World, question: &str, items: &[String], default: usize) -> Result<usize> {
    if !world.interactive {
        return Ok(default);
    }
    Select::new()
        .with_prompt(question)
        .items(items)
        .default(default)
        .interact()
        .map_err(|error| Failure::new(format!("the terminal: {error}")))
}

/// Asks which of some things it is to be; `None` where the person leaves the question.
pub fn select(prompt: &str, items: &[String], default: usize) -> Result<Option<usize>> {
    Select::new()
        .with_prompt(prompt)
        .items(items)
        .default(default)
        .interact_opt()
        .map_err(|error| Failure::new(format!("the terminal: {error}")))
}

/// Says that nothing was done: the person said no, or could not be asked.
pub fn declined(world: &World, message: &str) -> Failure {
    match world.interactive {
        true => Failure::new(message),
        false => Failure::new(message).hint("Add --yes where nobody can be asked."),
    }
}
