//! Journeys of memories through real git: files that git removes are not lost, and a person's deletions are permanent.

mod branches;
mod deleted;
mod journey;
mod moving;
mod ownership;
mod random;
mod undone;
mod written;
