//! Journeys of memories through real git: nothing that git takes along is lost, and what a person
//! deleted stays deleted.

mod branches;
mod deleted;
mod journey;
mod moving;
mod ownership;
mod random;
mod undone;
mod written;
