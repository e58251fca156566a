//! The pause of a model on this machine: in the background it receives no questions on battery power or while other
//! programs use the processors.

use std::time::Instant;

use memory_store::settings::{self, Llm};

use crate::machine::{Machine, Strain};

/// Returns the reason why the model in the settings must pause in the background; `None` if there is no reason, or if
/// the model is on another machine.
pub fn strain(settings: &Llm, ollama_host: Option<&str>, machine: &Machine) -> Option<Strain> {
    let is_local = super::host::is_local(settings, ollama_host);
    is_local.then(|| machine.strain(settings.pause)).flatten()
}

/// The pause in one run.
pub(super) struct ModelPause {
    machine: Machine,
    on: settings::Pause,
    /// Whether a reason was found. The pause then lasts for the rest of the run.
    has_begun: bool,
}

impl ModelPause {
    pub fn new(machine: &Machine, on: settings::Pause) -> Self {
        Self { machine: machine.clone(), on, has_begun: false }
    }

    /// Adds the time of an answer to this program's own load.
    pub fn add(&self, begun: Instant, ended: Instant) {
        self.machine.answered(begun, ended);
    }

    /// Returns whether questions are paused. Reads the state of the machine until the pause begins.
    pub fn is_on(&mut self) -> bool {
        self.has_begun = self.has_begun || self.machine.strain(self.on).is_some();
        self.has_begun
    }
}
