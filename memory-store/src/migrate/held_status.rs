//! Migration step that renames the status of pending memories to `held`. Version 0.1.0 wrote `draft`.

use super::plan::{FileChange, Planned};
use super::site::Site;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::memory::HeldFor;
use crate::stored::visit;

/// Description of the step.
pub(super) const ABOUT: &str =
    "Memories that wait for a review get the status `held`, with the reason, in place of `draft`.";

/// Plans the new texts of the files of pending memories.
pub(super) fn plan(site: &Site) -> Result<Planned> {
    let ledger = Ledger::open(&site.home)?;
    let (mut changes, mut lines) = (Vec::new(), Vec::new());
    visit(std::slice::from_ref(&site.home.drafts), &mut |read| {
        // A file that cannot be parsed or edited in place is left unchanged, because the program still accepts the old
        // status.
        let Ok(read) = read else { return };
        let (path, id, mut file) = (read.stored.path, read.stored.memory.id, read.file);
        let before = file.text().to_owned();
        if !file.renew_status().is_ok_and(|is_renewed| is_renewed) {
            return;
        }
        let mut memory = file.memory.clone();
        memory.hold(HeldFor::Review);
        if file.set(&memory).is_err() {
            return;
        }
        lines.extend(ledger.rewritten(id, &before, file.text()));
        let (before, after) = (before.into_bytes(), file.text().as_bytes().to_vec());
        changes.push(FileChange::replace(path, Some(before), after));
    });
    Ok(Planned::Changes { files: changes, ledger: lines })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::MemoryFile;

    const DRAFT: &str = "---\nid: 01m7w000000000000000000h4d\nkind: fact\nstatus: \"draft\" # not sure\nticket: T-7\nsource:\n  extractor: rules/13 prose\n---\n\n# A title\n\nstatus: draft\n";

    #[test]
    fn the_word_changes_in_place_and_nothing_else_of_a_person_s() {
        let mut file = MemoryFile::parse(Path::new("a.md"), DRAFT.as_bytes().to_vec()).unwrap();
        assert!(file.renew_status().unwrap());
        let renewed = DRAFT.replacen("\"draft\"", "held", 1);
        assert_eq!(file.text(), renewed);
        assert!(!file.renew_status().unwrap(), "a second run changes nothing");
        let mut memory = file.memory.clone();
        memory.hold(HeldFor::Review);
        file.set(&memory).unwrap();
        let with_reason = renewed.replacen("# not sure\n", "# not sure\nheld_for: review\n", 1);
        assert_eq!(file.text(), with_reason);
    }
}
