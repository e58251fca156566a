//! Part of a sync that moves sessions which rest into packs, and takes packs apart of which something counts no more: a
//! session went on, was cleaned or was removed.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use anyhow::Result;

use super::context::SyncContext;
use crate::collect::archive::{Entry, Member, PackFile};
use crate::state::{KnownPack, PackedSession, State};

/// Time without a record after which a session rests: hardly one goes on after that.
const REST: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// Bytes of the files of sessions that rest from which on they are packed: some three quarters of what a pack holds. A few
/// sessions save little.
pub const PACK_FROM_BYTES: u64 = 4 << 20;

/// The longest file that is packed. There are few longer ones, and each would fill a pack.
const SESSION_BYTES_MAX: u64 = 2 << 20;

/// Looks at packs that are not as they were, or whose sessions are not. They are taken apart unless all that they have
/// counts, so that no text stays in one that was removed or replaced; then `entries` are listed again. Returns warnings.
pub(super) fn settle(
    context: &SyncContext<'_>,
    state: &mut State,
    entries: &mut Vec<Entry>,
) -> Result<Vec<String>> {
    let archive = &context.sessions.archive;
    let packs = archive.packs()?;
    let before = state.packs.len();
    state.packs.retain(|id, _| packs.iter().any(|pack| pack.id == *id));
    let mut any_lost = state.packs.len() < before;
    let mut warnings = Vec::new();
    let mut is_apart = false;
    let there = by_name(entries);
    for pack in &packs {
        let known = state.packs.get(&pack.id);
        if !context.options.afresh && known.is_some_and(|known| known.is_same(pack, &there)) {
            continue;
        }
        state.packs.remove(&pack.id);
        let settled = archive.whole_pack(&pack.id).and_then(|members| match members {
            Some(members) => Ok(Some(KnownPack::of(pack, &members, &there))),
            None => archive.take_apart(&pack.id).map(|is_sound| {
                let path = archive.pack_path(&pack.id);
                let damaged = "what is sound of it was written again, the rest was put aside";
                let damaged = || format!("{}: this pack is damaged; {damaged}", path.display());
                any_lost |= !is_sound;
                warnings.extend((!is_sound).then(damaged));
                None
            }),
        });
        match settled {
            Ok(Some(known)) => drop(state.packs.insert(pack.id.clone(), known)),
            Ok(None) => is_apart = true,
            Err(error) => warnings.push(format!(
                "{error:#}; what was removed from this pack may still be in it until a sync can write it"
            )),
        }
    }
    if is_apart {
        *entries = archive.entries()?;
    }
    if any_lost {
        // Their files are as they were, and yet have to be looked at.
        state.sessions.values_mut().for_each(|session| session.len = 0);
    }
    Ok(warnings)
}

/// Returns the files of the archive, of sessions in packs with the length that they had outside. By these lengths the
/// oldest go: packing, and taking apart, must not decide about a session.
pub(super) fn as_if_unpacked(state: &State, entries: &[Entry]) -> Vec<Entry> {
    let sessions: HashMap<&str, &PackedSession> = state
        .packs
        .values()
        .flat_map(|pack| &pack.sessions)
        .map(|(n, s)| (n.as_str(), s))
        .collect();
    let unpacked = |entry: &Entry| {
        let packed = sessions.get(entry.name.as_str()).filter(|packed| packed.is_same(entry));
        Entry { len: packed.map_or(entry.len, |packed| packed.file_bytes), ..entry.clone() }
    };
    entries.iter().map(unpacked).collect()
}

/// Packs the sessions that rest longest, if there are enough: one pack at most. Returns warnings.
pub(super) fn pack_resting(context: &SyncContext<'_>, state: &mut State) -> Result<Vec<String>> {
    let archive = &context.sessions.archive;
    let rest_ms = i64::try_from(REST.as_millis()).unwrap_or(i64::MAX);
    let oldest = context.options.now.0.saturating_sub(rest_ms);
    let is_packed =
        |name: &String| state.packs.values().any(|pack| pack.sessions.contains_key(name));
    let sessions = state.sessions.iter();
    let mut resting: Vec<_> = sessions
        .filter(|(name, session)| {
            session.last.0 < oldest
                && session.len <= SESSION_BYTES_MAX
                && session.mined.is_some()
                && !is_packed(name)
        })
        .map(|(name, session)| (session.last, name, session.len))
        .collect();
    if resting.iter().map(|(.., len)| len).sum::<u64>() < context.options.pack_from {
        return Ok(Vec::new());
    }
    resting.sort();
    context.options.progress.stage("packing", 0);
    let names: Vec<String> = resting.into_iter().map(|(_, name, _)| name.clone()).collect();
    let packed = archive.pack(&names)?;
    if let Some((pack, members)) = packed.pack {
        let entries = archive.entries()?;
        let there = by_name(&entries);
        for member in &members {
            let Some(entry) = there.get(member.name.as_str()) else { continue };
            // Only the file is another one.
            state.sessions.entry(member.name.clone()).and_modify(|session| {
                (session.len, session.modified_ns) = (entry.len, entry.modified_ns);
            });
        }
        state.packs.insert(pack.id.clone(), KnownPack::of(&pack, &members, &there));
    }
    Ok(packed.warnings)
}

fn by_name(entries: &[Entry]) -> BTreeMap<&str, &Entry> {
    entries.iter().map(|entry| (entry.name.as_str(), entry)).collect()
}

impl KnownPack {
    fn of(pack: &PackFile, members: &[Member], there: &BTreeMap<&str, &Entry>) -> Self {
        let session = |member: &Member| {
            let entry = there.get(member.name.as_str())?;
            let (len, modified_ns) = (entry.len, entry.modified_ns);
            let file_bytes = member.file_bytes;
            Some((member.name.clone(), PackedSession { len, modified_ns, file_bytes }))
        };
        let sessions = members.iter().filter_map(session).collect();
        Self { len: pack.len, modified_ns: pack.modified_ns, sessions }
    }

    fn is_same(&self, pack: &PackFile, there: &BTreeMap<&str, &Entry>) -> bool {
        (self.len, self.modified_ns) == (pack.len, pack.modified_ns)
            && self.sessions.iter().all(|(name, session)| {
                there.get(name.as_str()).is_some_and(|entry| session.is_same(entry))
            })
    }
}

impl PackedSession {
    fn is_same(&self, entry: &Entry) -> bool {
        (self.len, self.modified_ns) == (entry.len, entry.modified_ns)
    }
}
