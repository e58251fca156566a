//! The project's own name. The gate does not count it, because people working on a project mention its name in any
//! prompt, whatever the subject. Ranking counts it, because among the memories that pass, the name helps to find the
//! right one.

use crate::query::Term;
use crate::search::sources::Sources;
use memory_store_base::text::{Form, each_term, term_hash};

/// Returns the hashes of these names as terms, in ascending order. Only compound names such as `parcel-desk` are
/// included, because a plain word such as `payments` may be the subject.
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

/// Returns for each term of a query whether it is the project's name or a part of that name.
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
