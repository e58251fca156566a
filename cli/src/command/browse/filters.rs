//! Filters of memories by kind, status, scope and path.

use memory_store::Kind;
use memory_store::memory::Scope;

/// Place of a memory between draft and grave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingFilter {
    /// It is given.
    Active,
    /// It waits for review.
    Waits,
    /// Another one replaces it, a person turned it down, or its time is over.
    Replaced,
    /// It was put aside.
    Aside,
}

/// Properties of a memory, by which it is filtered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Its kind.
    pub kind: Kind,
    /// Its place between draft and grave.
    pub standing: StandingFilter,
    /// Where it applies.
    pub scope: Scope,
    /// Files that it is about.
    pub paths: Vec<String>,
    /// Whether it is held back.
    pub is_held: bool,
    /// Whether it may be out of date.
    pub is_stale: bool,
}

/// Filter by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusFilter {
    /// Memories that `throughline list` has.
    #[default]
    Current,
    /// Memories that wait for review.
    Waits,
    /// Memories that are held back.
    Held,
    /// Memories that may be out of date.
    Stale,
    /// Memories that were replaced or turned down, or expired.
    Replaced,
    /// Memories that were put aside.
    Aside,
    /// Every memory.
    Every,
}

impl StatusFilter {
    const ALL: [Self; 7] = [
        Self::Current,
        Self::Waits,
        Self::Held,
        Self::Stale,
        Self::Replaced,
        Self::Aside,
        Self::Every,
    ];

    /// Returns the filter that follows in the round.
    pub fn next(self) -> Self {
        after(&Self::ALL, &self).unwrap_or_default()
    }

    /// Words for a person.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Waits => "pending",
            Self::Held => "held back",
            Self::Stale => "may be out of date",
            Self::Replaced => "replaced or expired",
            Self::Aside => "put aside",
            Self::Every => "every",
        }
    }

    fn lets_pass(self, traits: &Traits) -> bool {
        let is_current = matches!(traits.standing, StandingFilter::Active | StandingFilter::Waits);
        match self {
            Self::Current => is_current,
            Self::Waits => traits.standing == StandingFilter::Waits,
            Self::Held => is_current && traits.is_held,
            Self::Stale => is_current && traits.is_stale,
            Self::Replaced => traits.standing == StandingFilter::Replaced,
            Self::Aside => traits.standing == StandingFilter::Aside,
            Self::Every => true,
        }
    }
}

/// All filters; a memory has to pass each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Only this kind.
    pub kind: Option<Kind>,
    /// Only with this status.
    pub status: StatusFilter,
    /// Only with this scope.
    pub scope: Option<Scope>,
    /// Only about files that start so.
    pub path: String,
}

impl Filters {
    /// Lets all memories pass that have a status.
    pub fn of(status: StatusFilter) -> Self {
        Self { status, ..Self::default() }
    }

    /// Tells whether a memory passes all of them.
    pub fn let_pass(&self, traits: &Traits) -> bool {
        self.kind.is_none_or(|kind| kind == traits.kind)
            && self.status.lets_pass(traits)
            && self.scope.is_none_or(|scope| scope == traits.scope)
            && (self.path.is_empty() || traits.paths.iter().any(|it| it.starts_with(&self.path)))
    }

    /// Goes on to the next of these kinds, and behind the last one to all.
    pub fn next_kind(&mut self, kinds: Vec<Kind>) {
        self.kind = match self.kind {
            None => kinds.first().copied(),
            Some(kind) => after(&kinds, &kind),
        };
    }

    /// Goes on to the next scope, and behind the last one to all.
    pub fn next_scope(&mut self) {
        const ALL: [Scope; 3] = [Scope::Project, Scope::Paths, Scope::User];
        self.scope = match self.scope {
            None => Some(Scope::Project),
            Some(scope) => after(&ALL, &scope),
        };
    }
}

fn after<T: Copy + PartialEq>(all: &[T], one: &T) -> Option<T> {
    let at = all.iter().position(|other| other == one)?;
    all.get(at + 1).copied()
}
