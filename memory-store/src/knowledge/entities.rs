//! Entities: the things that memories name. Each entity has one name, although memories may contain it in several
//! spellings.
//!
//! A name is resolved in stages: equal normal form; a name that a person joined; the end of one longer name (see
//! [`super::ends`]); similar letters (Jaro-Winkler); similar meaning (cosine); otherwise it is a new entity. Similarity joins only names with the same words (see
//! [`super::name`]): a number, a version or another word always separates two entities until a person joins them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::confirmed::ConfirmedNames;
use super::ends::{self, NamedParts, Parts};
use super::facts::named_object;
use super::name::NormalName;
use super::predicates::Predicates;
use crate::embed::Vector;
use crate::memory::{Entity, EntityType, Memory};
use crate::settings::KnowledgeSettings;

/// Maximum number of names that are compared with each other by similarity.
const COMPARED_MAX: usize = 400;

/// Stage that joined a name to an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JoinedBy {
    /// The normal forms are equal.
    Form,
    /// A person joined the name.
    Person,
    /// The name is the end of one other name.
    End,
    /// The letters are similar.
    Letters,
    /// The vectors are similar.
    Meaning,
}

impl JoinedBy {
    /// Returns the stage in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Form => "same form",
            Self::Person => "joined by a person",
            Self::End => "its end",
            Self::Letters => "similar letters",
            Self::Meaning => "similar meaning",
        }
    }
}

/// Function that returns the vector of a text, if an embedder is installed.
pub type Embedding<'a> = &'a dyn Fn(&str) -> Option<Vector>;

/// Settings and vectors for deciding about similar names.
#[derive(Clone, Copy)]
pub struct Similarity<'a> {
    /// Thresholds.
    pub settings: &'a KnowledgeSettings,
    /// Vectors of names.
    pub embed: Embedding<'a>,
}

/// Returns the stage that joins two names without a person's decision; `None` if they are different entities.
pub fn compare(one: &str, other: &str, by: Similarity<'_>) -> Option<JoinedBy> {
    let (a, b) = (NormalName::of(one), NormalName::of(other));
    match a.key == b.key {
        true => Some(JoinedBy::Form),
        false if ends::is_end(one, other) => Some(JoinedBy::End),
        false => similar((&a, one), (&b, other), by),
    }
}

fn similar(
    (a, one): (&NormalName, &str),
    (b, other): (&NormalName, &str),
    by: Similarity<'_>,
) -> Option<JoinedBy> {
    if !a.may_be(b) {
        return None;
    }
    if strsim::jaro_winkler(&a.key, &b.key) >= by.settings.name_similarity {
        return Some(JoinedBy::Letters);
    }
    let cosine = (by.embed)(one)?.cosine(&(by.embed)(other)?);
    (f64::from(cosine) >= by.settings.name_cosine).then_some(JoinedBy::Meaning)
}

/// A thing that memories name, with all its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedEntity {
    /// The name that a person chose, or the most frequent one.
    pub name: String,
    /// The most frequent type.
    pub of_type: Option<EntityType>,
    /// The other names, with the stage that joined each.
    pub others: BTreeMap<String, JoinedBy>,
}

/// Index of an entity in [`Entities`].
pub type EntityId = usize;

/// The entities of all memories.
#[derive(Clone, Debug, Default)]
pub struct Entities {
    all: Vec<NamedEntity>,
    by_key: HashMap<String, EntityId>,
    by_text: HashMap<String, (EntityId, Arc<NormalName>)>,
    confirmed: ConfirmedNames,
}

/// All names with the same normal form.
#[derive(Default)]
struct FormGroup {
    normal: Option<Arc<NormalName>>,
    texts: BTreeMap<String, usize>,
    types: BTreeMap<EntityType, usize>,
}

impl FormGroup {
    fn count(&self) -> usize {
        self.texts.values().sum()
    }

    /// Returns the most frequent spelling; of equally frequent ones, the first in alphabetical order.
    fn name(&self) -> &str {
        let best = self.texts.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)));
        best.map_or("", |(text, _)| text)
    }

    /// Returns the most frequent type.
    fn of_type(&self) -> Option<EntityType> {
        let best = self.types.iter().max_by_key(|(of, count)| (**count, Reverse(**of)));
        best.map(|(of_type, _)| *of_type)
    }
}

impl Entities {
    /// Resolves the names in `entities` and `facts` of memories. The result depends neither on the order of the
    /// memories nor on the order of their names.
    pub fn of<'m>(
        memories: impl IntoIterator<Item = &'m Memory>,
        confirmed: &ConfirmedNames,
        by: Similarity<'_>,
        predicates: &Predicates,
    ) -> Self {
        let mut texts: HashMap<&str, usize> = HashMap::new();
        for memory in memories {
            memory.entities.iter().for_each(|text| *texts.entry(text).or_default() += 1);
            for fact in &memory.facts {
                *texts.entry(&fact.subject).or_default() += 1;
                if let Some(object) = named_object(fact, predicates) {
                    *texts.entry(object).or_default() += 1;
                }
            }
        }
        Self::resolve(texts, confirmed, by)
    }

    /// Resolves names, each with its number of occurrences.
    pub fn resolve<'t>(
        texts: impl IntoIterator<Item = (&'t str, usize)>,
        confirmed: &ConfirmedNames,
        by: Similarity<'_>,
    ) -> Self {
        let mut groups: BTreeMap<Arc<str>, FormGroup> = BTreeMap::new();
        let mut forms: HashMap<&str, Arc<NormalName>> = HashMap::new();
        // A name and the same name with a type often have the same form.
        let mut known: HashMap<(&str, bool), Arc<NormalName>> = HashMap::new();
        for (text, count) in texts {
            let (name, of_type) = Entity::split(text);
            let form = known.entry((name, NormalName::is_code(of_type)));
            let normal = form.or_insert_with(|| Arc::new(NormalName::of(text))).clone();
            let group = groups.entry(normal.key.clone()).or_default();
            match group.texts.get_mut(name) {
                Some(known) => *known += count,
                None => drop(group.texts.insert(name.to_owned(), count)),
            }
            of_type.into_iter().for_each(|it| *group.types.entry(it).or_default() += count);
            // The spelling that permits similarity and has more words represents the group.
            let is_better = |known: &NormalName| {
                let rank = |it: &NormalName| (it.is_exact, Reverse(it.words.len()));
                (rank(&normal), &normal.words) < (rank(known), &known.words)
            };
            if group.normal.as_deref().is_none_or(is_better) {
                group.normal = Some(normal.clone());
            }
            forms.insert(text, normal);
        }
        let leaders = leaders(&groups, confirmed, by);
        let mut entities = Self { confirmed: confirmed.clone(), ..Self::default() };
        let mut ids: BTreeMap<&str, EntityId> = BTreeMap::new();
        for leader in leaders.values().map(|(leader, _)| leader).collect::<BTreeSet<_>>() {
            ids.insert(leader, entities.all.len());
            let (name, of_type) = match groups.get(*leader) {
                Some(group) => (group.name().to_owned(), group.of_type()),
                None => (String::new(), None),
            };
            let chosen = confirmed.chosen(leader).map(str::to_owned);
            let name = chosen.unwrap_or(name);
            entities.all.push(NamedEntity { name, of_type, others: BTreeMap::new() });
        }
        for (key, (leader, stage)) in &leaders {
            let id = ids[leader];
            entities.by_key.insert((*key).to_owned(), id);
            let Some(group) = groups.get(*key) else { continue };
            let entity = &mut entities.all[id];
            entity.of_type = entity.of_type.or(group.types.keys().next().copied());
            for text in group.texts.keys().filter(|text| **text != entity.name) {
                entity.others.insert(text.clone(), *stage);
            }
        }
        for (text, form) in forms {
            if let Some(&id) = entities.by_key.get(&*form.key) {
                entities.by_text.insert(text.to_owned(), (id, form));
            }
        }
        entities
    }

    /// Returns all entities; an [`EntityId`] is an index into them.
    pub fn all(&self) -> &[NamedEntity] {
        &self.all
    }

    /// Finds the entity of a name.
    pub fn find(&self, name: &str) -> Option<EntityId> {
        self.by_text.get(name).map(|(id, _)| *id).or_else(|| self.find_form(&NormalName::of(name)))
    }

    fn find_form(&self, form: &NormalName) -> Option<EntityId> {
        let found = self.by_key.get(&*form.key).copied();
        found.or_else(|| self.by_key.get(self.confirmed.root(&form.key)).copied())
    }

    /// Finds the entity of a name, and returns the normal form of the name.
    pub(super) fn find_with_form(&self, name: &str) -> (Option<EntityId>, Arc<NormalName>) {
        match self.by_text.get(name) {
            Some((id, form)) => (Some(*id), form.clone()),
            None => {
                let form = Arc::new(NormalName::of(name));
                (self.find_form(&form), form)
            }
        }
    }

    /// Returns up to `max` names of entities that have a word in common with `name`, for a message.
    pub fn near(&self, name: &str, max: usize) -> Vec<&str> {
        let asked = NormalName::of(name);
        let score = |entity: &NamedEntity| {
            let other = NormalName::of(&entity.name);
            let shared = other.words.iter().filter(|word| asked.words.contains(word)).count();
            let likeness = strsim::jaro_winkler(&asked.key, &other.key);
            (shared > 0 || likeness > 0.8).then_some(shared as f64 + likeness)
        };
        let mut near: Vec<(f64, &str)> =
            self.all.iter().filter_map(|entity| Some((score(entity)?, &*entity.name))).collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        near.into_iter().take(max).map(|(_, name)| name).collect()
    }
}

/// Returns the leading form of each normal form, with the stage that joined them. A form joins the first similar form
/// among the more frequent ones, but never a form that has itself joined another, because similarity is not transitive.
fn leaders<'g>(
    groups: &'g BTreeMap<Arc<str>, FormGroup>,
    confirmed: &'g ConfirmedNames,
    by: Similarity<'_>,
) -> BTreeMap<&'g str, (&'g str, JoinedBy)> {
    let mut order: Vec<(&str, &FormGroup)> =
        groups.iter().map(|(key, group)| (&**key, group)).collect();
    // Names that a person decided about come first, so that misspellings follow them.
    let is_decided = |key: &str| confirmed.root(key) != key || confirmed.chosen(key).is_some();
    order.sort_by_cached_key(|(key, group)| (!is_decided(key), Reverse(group.count()), *key));
    let mut leaders: BTreeMap<&str, (&str, JoinedBy)> = BTreeMap::new();
    let mut blocks: HashMap<String, Vec<(&str, &FormGroup)>> = HashMap::new();
    for &(key, group) in &order {
        let root = confirmed.root(key);
        if root != key {
            leaders.insert(key, (root, JoinedBy::Person));
            leaders.entry(root).or_insert((root, JoinedBy::Form));
            // Misspellings can join this form.
            if let Some(normal) = &group.normal {
                blocks.entry(normal.block()).or_default().push((key, group));
            }
            continue;
        }
        let Some(normal) = group.normal.as_ref().filter(|it| !it.words.is_empty()) else {
            leaders.insert(key, (key, JoinedBy::Form));
            continue;
        };
        let block = blocks.entry(normal.block()).or_default();
        // A name to which other names were joined does not join another name by similarity.
        let is_root = leaders.contains_key(key) || confirmed.chosen(key).is_some();
        let others = if is_root { &[][..] } else { &block[..] };
        let joined = others.iter().take(COMPARED_MAX).find_map(|(other, leader)| {
            let theirs = leader.normal.as_deref()?;
            let (root, _) = *leaders.get(other)?;
            if confirmed.are_apart(key, other) || confirmed.are_apart(key, root) {
                return None;
            }
            let stage = similar((normal, group.name()), (theirs, leader.name()), by)?;
            Some((root, stage))
        });
        match joined {
            Some(joined) => drop(leaders.insert(key, joined)),
            None => {
                block.push((key, group));
                leaders.insert(key, (key, JoinedBy::Form));
            }
        }
    }
    join_ends(groups, confirmed, &mut leaders);
    leaders
}

/// Joins names that are the end of one other name, with all names that were joined to them.
fn join_ends<'g>(
    groups: &'g BTreeMap<Arc<str>, FormGroup>,
    confirmed: &ConfirmedNames,
    leaders: &mut BTreeMap<&'g str, (&'g str, JoinedBy)>,
) {
    let is_long = |text: &String| text.contains(['/', '.', '#']) || text.contains("::");
    if !groups.values().flat_map(|group| group.texts.keys()).any(is_long) {
        return;
    }
    let names = groups.iter().filter_map(|(key, group)| {
        Some(NamedParts { key, parts: Parts::of(group.name())?, of_type: group.of_type() })
    });
    let root = |key: &'g str| leaders.get(key).map_or(key, |(leader, _)| *leader);
    // A name that a person chose stays.
    let may_join = |key: &str, other: &str| {
        confirmed.chosen(key).is_none()
            && confirmed.root(key) == key
            && !confirmed.are_apart(key, other)
    };
    let owners = ends::owners(names.collect(), root, may_join);
    for (key, (leader, stage)) in &mut *leaders {
        let first = *leader;
        while let Some(owner) = owners.get(leader) {
            *leader = owner;
        }
        if *leader != first && *key == first {
            *stage = JoinedBy::End;
        }
    }
}
