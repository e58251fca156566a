//! All tests of memory files, the ledger, the index and recall in one program, which is linked only once.

#![expect(
    clippy::disallowed_methods,
    reason = "it asks for the environment that it starts programs in"
)]

mod common;
mod corpora;
mod embed_table;
mod embed_transformer;
mod expired;
mod follow_up;
mod index;
mod index_damage;
mod index_golden;
mod index_vectors;
mod index_writers;
mod knowledge;
mod known_secrets;
mod look_alikes;
mod made;
mod misspelled;
mod named_commands;
mod near_cures;
mod neighbours;
mod project_name;
mod quarantine;
mod search;
mod secrets;
mod store_files;
mod store_journeys;
mod store_people;
mod suspicion;
mod wordpiece;
