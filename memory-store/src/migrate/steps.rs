//! The list of migrations.

use super::plan::Planned;
use super::site::Site;
use super::{held_status, review_setting};
use crate::error::Result;
use crate::format_version::{StoreFormat, StoreKind};

/// A step from one format of a store to the next.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// Kind of the stores that the step changes.
    pub kind: StoreKind,
    /// Format of the store after the step.
    pub to: u32,
    /// Name of the step, which is never reused.
    pub name: &'static str,
    /// First version of the program that writes this format.
    pub since: &'static str,
    /// Description of the step, in one sentence.
    pub about: &'static str,
    /// Function that plans the changes to a store. It must omit files that already have the new form, because it is
    /// called again after a killed run.
    pub(super) plan: fn(&Site) -> Result<Planned>,
}

/// All migrations, in the order in which they run.
pub(super) static ALL: [Migration; 3] = [
    Migration {
        kind: StoreKind::User,
        to: 2,
        name: "held-status",
        since: "0.2.0",
        about: held_status::ABOUT,
        plan: held_status::plan,
    },
    Migration {
        kind: StoreKind::User,
        to: 3,
        name: "review-setting",
        since: "0.2.0",
        about: review_setting::ABOUT,
        plan: review_setting::plan,
    },
    Migration {
        kind: StoreKind::Project,
        to: 2,
        name: "held-status",
        since: "0.2.0",
        about: held_status::ABOUT,
        plan: held_status::plan,
    },
];

impl Site {
    /// Like [`Site::version`], but for a list of steps that may lead to a newer format than this program's own.
    pub(super) fn version_for(&self, migrations: &[Migration]) -> Result<StoreFormat> {
        let steps = migrations.iter().filter(|step| step.kind == self.kind);
        let reached = steps.map(|step| step.to).max().unwrap_or_default();
        match self.found_version()? {
            version if version.number <= reached => Ok(version),
            _ => self.version(),
        }
    }

    /// Returns the due steps of this store, in order.
    pub(super) fn pending<'m>(
        &self,
        migrations: &'m [Migration],
        number: u32,
    ) -> impl Iterator<Item = &'m Migration> {
        let kind = self.kind;
        migrations.iter().filter(move |step| step.kind == kind && step.to > number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lead_without_gaps_to_the_formats_that_this_program_writes() {
        for kind in [StoreKind::User, StoreKind::Project, StoreKind::MemoryFolder] {
            let steps: Vec<u32> =
                ALL.iter().filter(|step| step.kind == kind).map(|step| step.to).collect();
            assert_eq!(steps, (2..=kind.format()).collect::<Vec<_>>(), "{}", kind.name());
            let mut names: Vec<_> =
                ALL.iter().filter(|step| step.kind == kind).map(|step| step.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), steps.len(), "a name of a step is given twice");
        }
    }
}
