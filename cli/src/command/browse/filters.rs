//! Filters of memories by kind, status, scope and path.

use memory_store::Kind;
use memory_store::memory::Scope;

/// State of a memory in its life cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandingFilter {
    /// The memory is active.
    Active,
    /// The memory is pending.
    Waits,
    /// The memory was superseded or rejected, or has expired.
    Replaced,
    /// The memory is archived.
    Aside,
}

/// Properties of a memory that filters check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Kind of the memory.
    pub kind: Kind,
    /// State of the memory.
    pub standing: StandingFilter,
    /// Scope of the memory.
    pub scope: Scope,
    /// Files that the memory concerns.
    pub paths: Vec<String>,
    /// Whether the memory is withheld.
    pub is_held: bool,
    /// Whether the memory may be stale.
    pub is_stale: bool,
}

/// Filter by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusFilter {
    /// Memories listed by `throughline list`.
    #[default]
    Current,
    /// Pending memories.
    Waits,
    /// Withheld memories.
    Held,
    /// Memories that may be stale.
    Stale,
    /// Memories that were superseded or rejected, or have expired.
    Replaced,
    /// Archived memories.
    Aside,
    /// All memories.
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

    /// Returns the next filter, cyclically.
    pub fn next(self) -> Self {
        after(&Self::ALL, Some(self)).unwrap_or_default()
    }

    /// Returns the label.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Current => "current",
            Self::Waits => "pending",
            Self::Held => "withheld",
            Self::Stale => "may be out of date",
            Self::Replaced => "replaced or expired",
            Self::Aside => "archived",
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

/// The filters of the list. A memory is listed if it passes all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Only memories of this kind.
    pub kind: Option<Kind>,
    /// Only memories with this status.
    pub status: StatusFilter,
    /// Only memories with this scope.
    pub scope: Option<Scope>,
    /// Only memories about files whose paths begin with this text.
    pub path: String,
}

impl Filters {
    /// Returns filters that only check the status.
    pub fn of(status: StatusFilter) -> Self {
        Self { status, ..Self::default() }
    }

    /// Returns whether a memory passes all filters.
    pub fn let_pass(&self, traits: &Traits) -> bool {
        self.kind.is_none_or(|kind| kind == traits.kind)
            && self.status.lets_pass(traits)
            && self.scope.is_none_or(|scope| scope == traits.scope)
            && (self.path.is_empty() || traits.paths.iter().any(|it| it.starts_with(&self.path)))
    }

    /// Changes the filter to the next of these kinds; after the last kind, to all kinds.
    pub fn next_kind(&mut self, kinds: Vec<Kind>) {
        self.kind = after(&kinds, self.kind);
    }

    /// Changes the filter to the next scope; after the last scope, to all scopes.
    pub fn next_scope(&mut self) {
        self.scope = after(&[Scope::Project, Scope::Paths, Scope::User], self.scope);
    }
}

/// Returns the item after another one, or the first one.
fn after<T: Copy + PartialEq>(all: &[T], one: Option<T>) -> Option<T> {
    let place = |one: T| all.iter().position(|other| *other == one).map(|at| at + 1);
    all.get(one.map_or(Some(0), place)?).copied()
}
