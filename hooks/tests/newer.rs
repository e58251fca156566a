//! If a later version of the program wrote the private state, recall works and nothing is written.

use std::fs;
use std::path::PathBuf;

use crate::common::{PROJECT, STOP, SearchMode, World};
use memory_store::format_version::{self, StoreFormat};
use serde_json::json;

/// Returns an environment whose private state has a format that only a later version supports.
fn newer(format: u32) -> World {
    let world = World::with_memories_in(SearchMode::Words);
    let folder = world.dirs.project_folder(PROJECT);
    fs::create_dir_all(&folder).unwrap();
    fs::write(format_version::path(&folder), StoreFormat::line(format, "9.9.0")).unwrap();
    world
}

fn files(world: &World) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![world.home().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push((path.clone(), fs::read(path).unwrap())),
            }
        }
    }
    files.sort();
    files
}

#[test]
fn with_a_newer_store_recall_works_nothing_is_written_and_each_start_reports_the_reason() {
    let world = newer(99);
    let before = files(&world);
    for session in ["a", "b"] {
        let start = world.start(session, "startup");
        let told = start.message().unwrap();
        assert!(told.starts_with("Throughline: ") && !told.contains('\n'), "{told}");
        assert!(told.contains("9.9.0") && told.contains("Install"), "{told}");
        assert!(!start.context("SessionStart").is_empty());
        let prompt = world.prompt(session, "Which port does the ledger service listen on?");
        assert_eq!(prompt.message(), None);
        world.run_silently(STOP, &world.payload("Stop", session, json!({})));
        world.run_silently(STOP, &world.payload("SessionEnd", session, json!({})));
    }
    assert_eq!(files(&world), before);
}

#[test]
fn a_format_that_is_known_and_a_mark_that_cannot_be_read_change_nothing() {
    let known = newer(1);
    assert_eq!(
        known.start("a", "startup").message(),
        World::with_memories().start("a", "startup").message()
    );
    let damaged = newer(1);
    fs::write(format_version::path(&damaged.dirs.project_folder(PROJECT)), "no number").unwrap();
    damaged.run_silently(STOP, &damaged.payload("Stop", "a", json!({})));
    assert_eq!(damaged.notes().len(), 1);
}
