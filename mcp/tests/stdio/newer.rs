//! A store that a later version of the program wrote is read, but never changed.

use memory_store::format_version::{self, StoreFormat, StoreKind};

use super::*;

#[test]
fn what_a_later_version_wrote_is_recalled_and_not_changed() {
    for kind in [StoreKind::User, StoreKind::Project, StoreKind::MemoryFolder] {
        let world = World::searched(SearchMode::Scan);
        let (world, mut server) = serving(world, vec![fact(1, "We deploy with Helm", "Charts.")]);
        let folder = match kind {
            StoreKind::User => world.dirs.user_dir().folder,
            StoreKind::Project => world.store().home.folder,
            StoreKind::MemoryFolder => world.root.join(".throughline"),
        };
        fs::create_dir_all(&folder).unwrap();
        fs::write(format_version::path(&folder), StoreFormat::line(99, "9.9.0")).unwrap();
        let id = MemoryId([1; 16]).short();
        let (text, _, failed) = server.call("recall", json!({"query": "deploy with Helm"}));
        assert!(!failed && text.contains("Helm"), "{text}");
        let before = files_below(world.home.path());
        let calls = [
            ("remember", json!({"kind": "fact", "title": "We deploy on Tuesdays"})),
            ("remember", json!({"id": id, "title": "We deploy with Kustomize"})),
            ("forget", json!({"id": id})),
        ];
        for (tool, arguments) in calls {
            let (text, _, failed) = server.call(tool, arguments);
            assert!(failed && text.contains("9.9.0") && text.contains("Install"), "{text}");
        }
        if kind == StoreKind::Project {
            // The server writes no receipt either.
            server.call("recall", json!({"query": "deploy with Helm"}));
            let (text, ..) = server.call("status", json!({}));
            assert!(text.contains("9.9.0"), "{text}");
        }
        let after = files_below(world.home.path());
        let changed = after.iter().filter(|file| !before.contains(file)).map(|(path, _)| path);
        assert_eq!(changed.collect::<Vec<_>>(), Vec::<&PathBuf>::new(), "{}", kind.name());
        assert_eq!(after.len(), before.len(), "{}", kind.name());
        assert_eq!(server.end(), Some(0));
    }
}

fn files_below(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            // The lock file is ignored, since taking a lock creates it.
            false if path.ends_with("store.lock") => {}
            false => files.push((path.clone(), fs::read(path).unwrap())),
        }
    }
    files.sort();
    files
}
