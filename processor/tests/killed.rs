//! A sync that is killed at any moment. The result of the next sync is the same as without the kill.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::scripts::{Script, Sealed, eventful};

/// Number of times that the processor is killed.
const KILLS: u32 = 50;

fn processor(sealed: &Sealed) -> Command {
    let mut command = sealed.command(env!("CARGO_BIN_EXE_throughline-processor"));
    command
        .env("THROUGHLINE", "full")
        .args(["sync", "--project", &sealed.tree.project.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

fn scripts(sealed: &Sealed) -> Vec<Script> {
    let mut scripts: Vec<Script> =
        (0..5).map(|seed| eventful(&format!("s{seed}"), sealed.root(), seed)).collect();
    let mut fork = scripts[1].clone();
    fork.session = "0fork".into();
    fork.prompt("in the fork, always write a changelog entry");
    scripts.push(fork);
    scripts
}

/// Returns the memories and the archived records, without the path of the home.
fn result(sealed: &Sealed) -> Vec<(String, Vec<u8>)> {
    sealed
        .files(|path| {
            let path = path.to_string_lossy();
            !(path.starts_with("work/") || path.contains("/archive/"))
        })
        .into_iter()
        .map(|(path, bytes)| {
            let bytes = if path.extension().is_some_and(|ending| ending == "gz") {
                let mut text = String::new();
                std::io::Read::read_to_string(
                    &mut flate2::read::GzDecoder::new(&bytes[..]),
                    &mut text,
                )
                .unwrap();
                sealed.anywhere(text.split_once('\n').unwrap().1.as_bytes()).into_bytes()
            } else {
                sealed.anywhere(&bytes).into_bytes()
            };
            (path.to_string_lossy().into_owned(), bytes)
        })
        .collect()
}

#[test]
fn killing_it_at_fifty_moments_changes_nothing_in_the_end() {
    let undisturbed = Sealed::new();
    for script in scripts(&undisturbed) {
        undisturbed.write_script(&script);
    }
    let started = std::time::Instant::now();
    assert!(processor(&undisturbed).status().unwrap().success());
    let whole = started.elapsed();
    assert!(result(&undisturbed).len() > 6);

    let killed = Sealed::new();
    let scripts = scripts(&killed);
    // The generator covers all remainders, so the moments of the kills are spread over the whole run.
    let (mut seed, mut ended) = (7_u32, 0);
    for kill in 0..KILLS {
        // The transcripts grow between the kills.
        for script in &scripts {
            let text = script.text();
            let from = text.len() * kill as usize / KILLS as usize;
            let to = text.len() * (kill as usize + 1) / KILLS as usize;
            let path = killed.transcript(&format!("{}.jsonl", script.session));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut file =
                std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
            file.write_all(&text.as_bytes()[from..to]).unwrap();
        }
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let moment = whole * (seed >> 16) / u32::from(u16::MAX);
        let mut child = processor(&killed).spawn().unwrap();
        std::thread::sleep(moment.min(Duration::from_secs(5)));
        child.kill().unwrap();
        ended += u32::from(child.wait().unwrap().success());
    }
    assert!(ended < KILLS, "it was killed at least sometimes");
    assert!(processor(&killed).status().unwrap().success());
    let (one, other) = (result(&undisturbed), result(&killed));
    let names = |files: &[(String, Vec<u8>)]| {
        files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&one), names(&other));
    for ((name, one), (_, other)) in one.iter().zip(&other) {
        assert_eq!(String::from_utf8_lossy(one), String::from_utf8_lossy(other), "{name}");
    }
    let before = result(&killed);
    assert!(processor(&killed).status().unwrap().success());
    assert_eq!(result(&killed), before);
}
