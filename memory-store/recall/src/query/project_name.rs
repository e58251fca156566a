//! The project's own name, which tells nothing of what a prompt is about: somebody who works on a project names it
//! whatever they ask. So the gate does not count it. Ranking does: what is left says which memory is meant.

use crate::query::Term;
use crate::search::sources::Sources;
use memory_store_base::text::{Form, each_term, term_hash};

/// Returns the hashes of the terms that these names are, in rising order. Only a name such as `parcel-desk` is one: a
/// plain word may be what the project is about, as `payments` is.
pub fn hashes<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u64> {
    let mut hashes: Vec<u64> = names.filter_map(hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

fn hash(name: &str) -> Option<u64> {
    let mut words = 0;
    let mut whole = None;
    each_term(name, &mut |term, form| {
        words += usize::from(form != Form::Part);
        if form == Form::Whole {
            whole = Some(term_hash(term));
        }
    });
    whole.filter(|_| words == 1)
}

/// Returns which of a query's terms mention the project, by its name or as a part of that.
pub(crate) fn mentioned(sources: &Sources, terms: &[Term]) -> Vec<bool> {
    let mut mentioned = vec![false; terms.len()];
    for name in terms.iter().filter(|term| sources.is_project_name(term.hash)) {
        each_term(&name.text, &mut |part, _| {
            if let Some(at) = terms.iter().position(|term| term.text == part) {
                mentioned[at] = true;
            }
        });
    }
    mentioned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_term_of_several_words() {
        let names = [
            "Parcel-Desk",
            "parcel_desk",
            "payments",
            "my desk",
            "parcel-desk copy",
            "",
            "parcel-desk",
        ];
        let mut expected = ["parcel-desk", "parcel_desk"].map(term_hash);
        expected.sort_unstable();
        assert_eq!(hashes(names.into_iter()), expected);
    }
}
