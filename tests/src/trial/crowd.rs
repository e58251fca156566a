//! Programs that run concurrently: hooks of parallel sessions, processors, servers, commands, git and an editor.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::writer::{Claim, Task};
use super::{Invalid, Random, Trial, Writer};

/// The result of a crowd.
#[derive(Debug, Default)]
pub struct Crowd {
    /// Number of actions, by actor.
    pub done: BTreeMap<&'static str, u32>,
    /// Number of git commands that failed because of files in the working tree, which is permitted.
    pub refused: u32,
    /// Number of commands that failed because another process held the lock.
    pub busy: u32,
    /// Number of files that the editor saved a second time, because git had read them while they were empty.
    pub saved_again: u32,
    /// Violations.
    pub faults: Vec<Invalid>,
}

/// State that the actors share.
struct Scene<'a> {
    trial: &'a Trial,
    until: Instant,
    next: AtomicU32,
    seen: Mutex<Crowd>,
    /// Titles of acknowledged memories.
    kept: Mutex<Vec<String>>,
    /// Files that the editor saved in place, with the text of its buffers.
    buffers: Mutex<BTreeMap<PathBuf, String>>,
}

/// Runs several sessions for a time, in parallel with all other programs that access a store. Then checks that the
/// store is valid, no acknowledged memory is lost and no process still runs.
pub fn crowd(sessions: u32, time: Duration, seed: u64) -> io::Result<Crowd> {
    let trial = Trial::new()?;
    let handles = open_handles();
    let scene = Scene {
        trial: &trial,
        until: Instant::now() + time,
        next: AtomicU32::new(1),
        seen: Mutex::default(),
        kept: Mutex::default(),
        buffers: Mutex::default(),
    };
    thread::scope(|scope| {
        for number in 0..sessions {
            let scene = &scene;
            scope.spawn(move || scene.work("session", || scene.session(number)));
        }
        for (name, writer) in [
            ("sync", Writer::Sync),
            ("sync", Writer::Sync),
            ("add", Writer::Add),
            ("remember", Writer::Remember),
            ("purge", Writer::Purge),
        ] {
            let scene = &scene;
            scope.spawn(move || scene.work(name, || scene.command(writer)));
        }
        scope.spawn(|| {
            let mut random = Random::new(seed);
            scene.work("git", || scene.git(&mut random));
        });
        scope.spawn(|| {
            let mut random = Random::new(seed + 1);
            scene.work("editor", || scene.edit(&mut random));
        });
        scope.spawn(|| scene.note(scene.server()));
    });
    scene.end()?;
    let (seen, kept) = (scene.seen, scene.kept);
    let mut crowd = seen.into_inner().map_err(|_| io::Error::other("a thread died"))?;
    let kept = kept.into_inner().map_err(|_| io::Error::other("a thread died"))?;
    crowd.faults.extend(trial.faults_after_recovery()?);
    for title in kept {
        // Memories in a branch or a stash are not lost.
        let held = || {
            trial.sample.git(&[
                "log",
                "--all",
                "--reflog",
                "--oneline",
                "--root",
                "-m",
                "-S",
                &title,
            ])
        };
        if trial.find(&title).is_none() && held()?.is_empty() {
            crowd.faults.push(format!("`{title}` was acknowledged and is gone"));
        }
    }
    let left = open_handles();
    if left > handles {
        crowd.faults.push(format!("{handles} handles at first, {left} in the end"));
    }
    Ok(crowd)
}

fn open_handles() -> usize {
    fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

impl Scene<'_> {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    fn number(&self) -> u32 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Repeats a step until the time has passed.
    fn work(&self, name: &'static str, mut step: impl FnMut() -> io::Result<Vec<Invalid>>) {
        while !self.is_over() {
            self.note(step());
            if let Ok(mut seen) = self.seen.lock() {
                *seen.done.entry(name).or_default() += 1;
            }
        }
    }

    fn note(&self, outcome: io::Result<Vec<Invalid>>) {
        let faults = outcome.unwrap_or_else(|error| vec![error.to_string()]);
        if let Ok(mut seen) = self.seen.lock() {
            seen.faults.extend(faults);
        }
    }

    /// Runs the hooks of a session one after the other.
    fn session(&self, session: u32) -> io::Result<Vec<Invalid>> {
        let mut faults = Vec::new();
        for writer in Writer::HOOKS {
            // Prompts and reads use the session file of a continued session, together with other threads.
            let number = if writer == Writer::Start { self.number() } else { session };
            let output = finished(self.trial.task(writer, number)?)?;
            if output.status.code() != Some(0) {
                faults.push(format!("{writer:?} exited with {}", output.status));
            }
            if !output.stdout.is_empty() && serde_json::from_slice::<Value>(&output.stdout).is_err()
            {
                faults
                    .push(format!("{writer:?} said {:?}", String::from_utf8_lossy(&output.stdout)));
            }
            if !output.stderr.is_empty() {
                faults.push(format!("{writer:?}: {}", String::from_utf8_lossy(&output.stderr)));
            }
        }
        Ok(faults)
    }

    /// Runs a command of the user, or one call of the server.
    fn command(&self, writer: Writer) -> io::Result<Vec<Invalid>> {
        let number = self.number();
        let task = self.trial.task(writer, number)?;
        let claim = task.claim.clone();
        let output = if writer == Writer::Remember { answered(task)? } else { finished(task)? };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let acknowledged = match writer {
            Writer::Remember => {
                String::from_utf8_lossy(&output.stdout).contains("\"isError\":false")
            }
            _ => output.status.success(),
        };
        if let Claim::Kept { title, .. } = claim
            && acknowledged
            && let Ok(mut kept) = self.kept.lock()
        {
            kept.push(title);
        }
        if acknowledged {
            return Ok(Vec::new());
        }
        // These messages are permitted: git may remove the store for a moment, so that the session is reported as
        // missing, and `purge` may report that purged memories were injected into other sessions in the meantime.
        let told = ["another process", "not trusted on this machine", "still hold"];
        if told.iter().any(|told| said.contains(told)) {
            if let Ok(mut seen) = self.seen.lock() {
                seen.busy += 1;
            }
            return Ok(Vec::new());
        }
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(vec![format!("{writer:?}: {said}{answer}")])
    }

    /// Changes files with a random git operation.
    fn git(&self, random: &mut Random) -> io::Result<Vec<Invalid>> {
        let git = |arguments: &[&str]| self.trial.sample.git(arguments).is_ok();
        let branch = format!("side-{}", random.below(3));
        let done = match random.below(5) {
            0 => {
                git(&["switch", "--quiet", "--force-create", &branch])
                    && git(&["switch", "--quiet", "main"])
            }
            1 => {
                git(&["add", "--all"])
                    && git(&["commit", "--quiet", "--allow-empty", "--message", "Keep"])
            }
            2 => {
                git(&["stash", "push", "--include-untracked", "--quiet"])
                    && git(&["stash", "pop", "--quiet"])
            }
            3 => git(&["merge", "--quiet", "--no-edit", &branch]),
            _ => git(&["rebase", "--quiet", &branch]),
        };
        if !done {
            // Unfinished operations are aborted, as a user would do.
            git(&["merge", "--abort"]);
            git(&["rebase", "--abort"]);
            git(&["switch", "--quiet", "main"]);
            if let Ok(mut seen) = self.seen.lock() {
                seen.refused += 1;
            }
        }
        thread::sleep(Duration::from_millis(50));
        Ok(Vec::new())
    }

    /// Saves a memory as an editor does, either in place or by a rename.
    fn edit(&self, random: &mut Random) -> io::Result<Vec<Invalid>> {
        let memories = self.trial.memories();
        if let Some(stored) = random.one_of(&memories)
            && let Ok(text) = fs::read_to_string(&stored.path)
        {
            let text = format!("{}\n\nEdited by hand, {}.\n", text.trim_end(), random.below(100));
            let beside = stored.path.with_extension("md~");
            // Errors are ignored, since the file may have been removed in the meantime.
            if random.below(2) == 0 {
                drop(fs::write(&beside, text).and_then(|()| fs::rename(&beside, &stored.path)));
            } else if let Ok(mut file) =
                fs::File::options().write(true).truncate(true).open(&stored.path)
            {
                drop(file.write_all(text.as_bytes()));
                if let Ok(mut buffers) = self.buffers.lock() {
                    buffers.insert(stored.path.clone(), text);
                }
            }
        }
        thread::sleep(Duration::from_millis(100));
        Ok(Vec::new())
    }

    /// Runs one server until the time has passed. The number of its open files must not grow.
    fn server(&self) -> io::Result<Vec<Invalid>> {
        let Task { mut command, input, .. } = self.trial.task(Writer::Remember, 0)?;
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut talk = (
            child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?,
            BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?),
        );
        talk.0.write_all(&input)?;
        answer(&mut talk, 2)?;
        let handles =
            || fs::read_dir(format!("/proc/{}/fd", child.id())).map_or(0, Iterator::count);
        let (mut first, mut faults) = (None, Vec::new());
        let mut id = 3;
        while !self.is_over() {
            let arguments = json!({"query": "archive import in parallel"});
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                "params": {"name": "recall", "arguments": arguments}});
            writeln!(talk.0, "{call}")?;
            let said = answer(&mut talk, id)?;
            if said["result"]["isError"] != false {
                faults.push(format!("recall: {said}"));
            }
            if id == 8 {
                first = Some(handles());
            }
            id += 1;
            thread::sleep(Duration::from_millis(100));
        }
        if let Some(first) = first.filter(|&first| handles() > first) {
            faults.push(format!("the server has {} files open, {first} at first", handles()));
        }
        drop(talk);
        child.wait()?;
        Ok(faults)
    }

    /// Ends all git operations.
    fn end(&self) -> io::Result<()> {
        let left = self.trial.sample.environment.wait_until_quiet();
        if !left.is_empty() {
            self.note(Ok(vec![format!("still running: {left:?}")]));
        }
        let git = |arguments: &[&str]| self.trial.sample.git(arguments);
        // Git keeps a stash that cannot be applied.
        while !git(&["stash", "list"])?.is_empty() && git(&["stash", "pop", "--quiet"]).is_ok() {}
        self.save_again()?;
        self.trial.tidy()
    }

    /// Saves truncated files again. An editor that saves in place empties the file first. If git replaces the file at
    /// that moment, the editor writes the new text to a file that no longer has a name. Throughline never writes in
    /// place; a user who notices the loss saves again.
    fn save_again(&self) -> io::Result<()> {
        let buffers = self.buffers.lock().map_err(|_| io::Error::other("a thread died"))?;
        let is_empty = |path: &Path| fs::metadata(path).is_ok_and(|found| found.len() == 0);
        for (path, text) in buffers.iter().filter(|(path, _)| is_empty(path)) {
            fs::write(path, text)?;
            if let Ok(mut seen) = self.seen.lock() {
                seen.saved_again += 1;
            }
        }
        Ok(())
    }
}

fn answer(talk: &mut (ChildStdin, BufReader<ChildStdout>), id: i64) -> io::Result<Value> {
    let mut line = String::new();
    loop {
        line.clear();
        if talk.1.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the server ended"));
        }
        let said: Value = serde_json::from_str(&line)?;
        if said["id"] == id {
            return Ok(said);
        }
    }
}

/// Runs a server until it has answered, as a client does: a client that closes its input earlier receives no answer.
fn answered(task: Task) -> io::Result<Output> {
    let Task { mut command, input, .. } = task;
    let command: &mut Command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let mut talk = (
        child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?,
        BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?),
    );
    talk.0.write_all(&input)?;
    let said = answer(&mut talk, 2)?;
    drop(talk);
    Ok(Output { stdout: said.to_string().into_bytes(), ..child.wait_with_output()? })
}

/// Runs a task to its end.
fn finished(task: Task) -> io::Result<Output> {
    let Task { mut command, input, .. } = task;
    let command: &mut Command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        drop(stdin.write_all(&input));
    }
    child.wait_with_output()
}
