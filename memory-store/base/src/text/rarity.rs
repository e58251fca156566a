//! Rarity of a term in technical text in general, independent of any store.
//!
//! `scripts/build-background` generates the table from documentation. The table contains only hashes of terms with
//! their rarity. A term that is missing has the maximum rarity.

/// First bytes of the table.
pub(crate) const MAGIC: [u8; 8] = *b"TLBACKG1";
/// Number of bytes before the slots: the magic bytes, the number of slots and the number of documents.
pub(crate) const HEADER: usize = 16;
/// Number of bytes of a slot: 24 bits for the hash, 8 for the rarity.
pub(crate) const SLOT: usize = 4;
/// Rarity of a term that is not in the table.
pub const IDF_MAX: f32 = 9.5;

static TABLE: [u8; include_bytes!("../../../assets/background.bin").len()] =
    *include_bytes!("../../../assets/background.bin");

/// Returns the inverse document frequency of the term with this hash, from 0 to [`IDF_MAX`].
pub fn idf(hash: u64) -> f32 {
    look_up(&TABLE, hash).map_or(IDF_MAX, |rarity| f32::from(rarity) * (IDF_MAX / 255.0))
}

/// Returns the inverse document frequency of a term that `count` of `docs` documents contain. It is never negative.
pub fn inverse_frequency(docs: u32, count: u32) -> f32 {
    let (docs, count) = (docs as f32, count as f32);
    (1.0 + (docs - count + 0.5).max(0.0) / (count + 0.5)).ln()
}

/// Returns whether the table lacks a term.
pub fn is_unknown(term: &str) -> bool {
    look_up(&TABLE, super::term_hash(term)).is_none()
}

fn look_up(table: &[u8], hash: u64) -> Option<u8> {
    let count = u32::from_le_bytes(*table.strip_prefix(&MAGIC)?.first_chunk()?);
    let count = usize::try_from(count).ok().filter(|count| count.is_power_of_two())?;
    let slots = table.get(HEADER..HEADER + count * SLOT)?;
    let wanted = fingerprint(hash);
    let start = hash as usize & (count - 1);
    (0..count).map(|step| (start + step) & (count - 1)).find_map(|at| {
        let slot = &slots[at * SLOT..][..SLOT];
        if slot[..3] == [0; 3] {
            return Some(None);
        }
        (slot[..3] == wanted).then_some(Some(slot[3]))
    })?
}

/// Returns the part of a hash that a slot stores. It is never zero, because zero marks a free slot.
pub(crate) fn fingerprint(hash: u64) -> [u8; 3] {
    let high = ((hash >> 40) as u32).max(1);
    let [a, b, c, _] = high.to_le_bytes();
    [a, b, c]
}

/// Returns the bytes of a table. `counts` contains the hash of each term and the number of documents with that term,
/// out of `docs`.
pub fn table(docs: u32, counts: &[(u64, u32)]) -> Vec<u8> {
    let slots = (counts.len() * 4 / 3).next_power_of_two().max(4);
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&(slots as u32).to_le_bytes());
    out.extend_from_slice(&docs.to_le_bytes());
    out.resize(HEADER + slots * SLOT, 0);
    for &(hash, count) in counts {
        let idf = inverse_frequency(docs, count).min(IDF_MAX);
        let mut at = hash as usize & (slots - 1);
        while out[HEADER + at * SLOT..][..3] != [0; 3] {
            at = (at + 1) & (slots - 1);
        }
        let slot = &mut out[HEADER + at * SLOT..][..SLOT];
        slot[..3].copy_from_slice(&fingerprint(hash));
        slot[3] = (idf / IDF_MAX * 255.0).round() as u8;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::term_hash;

    #[test]
    fn common_words_are_common_and_unknown_ones_rare() {
        assert_eq!(&TABLE[..8], &MAGIC);
        let common = idf(term_hash("valu"));
        assert!(common < 4.0, "{common}");
        assert_eq!(idf(term_hash("zzqxv")), IDF_MAX);
    }

    #[test]
    fn what_a_table_holds_is_found() {
        let counts: Vec<(u64, u32)> =
            (1..50u32).map(|n| (term_hash(&n.to_string()), n * 10)).collect();
        let table = table(1000, &counts);
        let rarities: Vec<u8> =
            counts.iter().map(|&(hash, _)| look_up(&table, hash).unwrap()).collect();
        assert!(rarities.is_sorted_by(|a, b| a >= b), "{rarities:?}");
        assert_eq!(look_up(&table, term_hash("absent")), None);
        assert_eq!(look_up(&table[..20], term_hash("1")), None);
    }
}
