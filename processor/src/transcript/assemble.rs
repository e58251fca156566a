//! Assembles the records of a session into turns with their steps, and calls with their results.

use std::collections::{HashMap, HashSet};

use memory_store::Timestamp;

use super::memory_echo;
use super::queue::only_queued;
use super::record::{Record, RecordWhat, TaskChange, ToolResult};
use super::session::{Call, Input, Prompt, PromptBy, Session, Step, StepKind, Turn};
use super::tasks::Tasks;

/// Data about other sessions, needed to assemble one.
pub struct Assembly<'a> {
    /// Returns whether a record belongs to this session. Forks and old resumes copy records, and each record counts
    /// only in the session that owns it.
    pub owns: &'a dyn Fn(&Record) -> bool,
    /// Returns whether another session contains the record with this uuid.
    pub known: &'a dyn Fn(&str) -> bool,
    /// Tasks from before the first record.
    pub tasks: &'a Tasks,
}

impl Assembly<'_> {
    /// Data for a session without other sessions.
    pub const ALONE: Assembly<'static> =
        Assembly { owns: &|_| true, known: &|_| false, tasks: &Tasks::NONE };
}

/// Name of an agent that was written into the main transcript.
pub const INLINE_AGENT: &str = "inline";

/// Assembles the records of one transcript: the session, and a separate session for all subagents that were written
/// into its transcript.
pub fn assemble(
    id: &str,
    agent: Option<&str>,
    records: &[Record],
    others: &Assembly<'_>,
) -> Vec<Session> {
    // In a subagent's own file, all records are marked as a side chain.
    if agent.is_some() {
        return vec![one(id, agent, &records.iter().collect::<Vec<_>>(), others)];
    }
    let part = |side: bool| records.iter().filter(|record| record.side == side).collect::<Vec<_>>();
    let mut sessions = vec![one(id, None, &part(false), others)];
    let apart = Assembly { tasks: &Tasks::NONE, ..*others };
    let side = one(id, Some(INLINE_AGENT), &part(true), &apart);
    if !side.turns.is_empty() {
        sessions.push(side);
    }
    sessions
}

fn one(id: &str, agent: Option<&str>, records: &[&Record], others: &Assembly<'_>) -> Session {
    let mut builder = Builder { tasks: others.tasks.clone(), ..Builder::default() };
    let queued: HashSet<usize> = only_queued(records).into_iter().collect();
    for (position, record) in records.iter().enumerate() {
        builder.add(position, record, queued.contains(&position), others);
    }
    builder.mark_rewound();
    Session {
        id: id.to_owned(),
        agent: agent.map(str::to_owned),
        title: title(records),
        turns: builder.finish(),
        before: Vec::new(),
    }
}

/// Returns the last title by a person, or else the last generated title.
fn title(records: &[&Record]) -> Option<String> {
    let uuids: HashSet<&str> = records.iter().map(|record| record.uuid.as_str()).collect();
    let mut best: Option<(u8, &str)> = None;
    for record in records {
        if let RecordWhat::Title { text, rank, leaf } = &record.what
            && (leaf.is_empty() || uuids.contains(leaf.as_str()))
            && best.is_none_or(|(other, _)| *rank >= other)
        {
            best = Some((*rank, text));
        }
    }
    best.map(|(_, text)| text.to_owned())
}

/// A turn during assembly.
struct Open {
    turn: Turn,
    owned: bool,
    /// For each step: whether this session owns it, and the id of its API message.
    steps: Vec<(bool, String)>,
    /// The index of the turn before it.
    after: Option<usize>,
    first: usize,
    last: usize,
}

#[derive(Default)]
struct Builder {
    turns: Vec<Open>,
    turn_of: HashMap<String, usize>,
    calls: HashMap<String, (usize, usize)>,
    changes: HashMap<String, TaskChange>,
    tasks: Tasks,
    boundary: String,
    records: usize,
    now: Timestamp,
}

impl Builder {
    fn add(&mut self, position: usize, record: &Record, only_queued: bool, others: &Assembly<'_>) {
        if record.at != Timestamp::default() {
            self.now = record.at;
        }
        let owned = (others.owns)(record);
        match &record.what {
            RecordWhat::Link => {
                if let Some(turn) = self.turn_of.get(&record.parent).copied() {
                    self.turn_of.insert(record.uuid.clone(), turn);
                }
                return;
            }
            RecordWhat::Title { .. } | RecordWhat::Dequeue | RecordWhat::PopAll => return,
            RecordWhat::Boundary { after } => self.boundary.clone_from(after),
            RecordWhat::Prompt { cwd, branch, text, by, images } => {
                let prompt = Prompt { text: text.clone(), by: *by, images: *images };
                self.open(position, record, owned, cwd, branch, prompt);
            }
            RecordWhat::Summary { cwd, branch, text } => {
                let gone = self.records == 0 && !(others.known)(&self.boundary);
                if gone {
                    let prompt = Prompt { text: text.clone(), by: PromptBy::Summary, images: 0 };
                    self.open(position, record, owned, cwd, branch, prompt);
                }
            }
            RecordWhat::Interrupt => self.interrupt(position, record),
            RecordWhat::Text { message, text } => {
                if !self.joined(position, record, message, text) {
                    self.step(
                        position,
                        record,
                        owned,
                        message,
                        StepKind::Text { text: text.clone() },
                    );
                }
            }
            RecordWhat::Thinking { message, text } => {
                self.step(
                    position,
                    record,
                    owned,
                    message,
                    StepKind::Thinking { text: text.clone() },
                );
            }
            RecordWhat::Call { id, tool, what, task } => {
                let call = Call {
                    id: id.clone(),
                    tool: tool.clone(),
                    input: what.clone(),
                    ..Call::default()
                };
                let place = self.step(position, record, owned, "", StepKind::Call(Box::new(call)));
                self.calls.entry(id.clone()).or_insert(place);
                if let Some(task) = task {
                    self.changes.insert(id.clone(), task.clone());
                }
            }
            RecordWhat::Result(result) => self.result(position, record, owned, result),
            RecordWhat::Enqueue { text } => {
                if only_queued {
                    self.step(position, record, owned, "", StepKind::Queued { text: text.clone() });
                }
            }
            RecordWhat::Queued { text } => {
                self.step(position, record, owned, "", StepKind::Queued { text: text.clone() });
            }
        }
        if !matches!(record.what, RecordWhat::Boundary { .. }) {
            self.records += 1;
        }
        if let Some(turn) = self.turn_of_parent(record) {
            self.turn_of.entry(record.uuid.clone()).or_insert(turn);
        }
    }

    fn open(
        &mut self,
        position: usize,
        record: &Record,
        owned: bool,
        cwd: &str,
        branch: &str,
        prompt: Prompt,
    ) {
        let after = self.turn_of_parent(record);
        let turn = Turn {
            uuid: record.uuid.clone(),
            at: self.now,
            cwd: cwd.to_owned(),
            branch: branch.to_owned(),
            prompt,
            ..Turn::default()
        };
        self.turn_of.insert(record.uuid.clone(), self.turns.len());
        self.turns.push(Open {
            turn,
            owned,
            steps: Vec::new(),
            after,
            first: position,
            last: position,
        });
    }

    /// Returns the index of the turn that the record continues. This is the turn of its parent if known, because two
    /// terminals may write into one transcript, or else the last turn, because a parent may be missing.
    fn turn_of_parent(&self, record: &Record) -> Option<usize> {
        self.turn_of.get(&record.parent).copied().or_else(|| self.turns.len().checked_sub(1))
    }

    fn turn_for(&mut self, position: usize, record: &Record) -> usize {
        let turn = self.turn_of_parent(record).unwrap_or_else(|| {
            // The transcript begins inside a turn, so the prompt is missing.
            let prompt = Prompt { by: PromptBy::Machine, ..Prompt::default() };
            self.open(position, record, true, "", "", prompt);
            0
        });
        self.turns[turn].last = position;
        turn
    }

    fn step(
        &mut self,
        position: usize,
        record: &Record,
        owned: bool,
        message: &str,
        what: StepKind,
    ) -> (usize, usize) {
        let turn = self.turn_for(position, record);
        let open = &mut self.turns[turn];
        open.turn.steps.push(Step { uuid: record.uuid.clone(), at: self.now, what });
        open.steps.push((owned, message.to_owned()));
        (turn, open.steps.len() - 1)
    }

    /// Appends text to the previous step if both are from the same API message. Returns whether it did.
    fn joined(&mut self, position: usize, record: &Record, message: &str, more: &str) -> bool {
        let turn = self.turn_for(position, record);
        let open = &mut self.turns[turn];
        let (Some(step), Some((_, before))) = (open.turn.steps.last_mut(), open.steps.last())
        else {
            return false;
        };
        let StepKind::Text { text } = &mut step.what else { return false };
        if message.is_empty() || before != message {
            return false;
        }
        if more.starts_with(text.as_str()) {
            // The message was written again with more text.
            more.clone_into(text);
        } else if !text.ends_with(more) {
            text.push_str("\n\n");
            text.push_str(more);
        }
        true
    }

    fn interrupt(&mut self, position: usize, record: &Record) {
        let turn = self.turn_for(position, record);
        let turn = &mut self.turns[turn].turn;
        turn.interrupted = true;
        for step in turn.steps.iter_mut().rev() {
            match &mut step.what {
                StepKind::Call(call) if call.result_uuid.is_none() => call.interrupted = true,
                StepKind::Call(_)
                | StepKind::Text { .. }
                | StepKind::Thinking { .. }
                | StepKind::Queued { .. } => {}
            }
        }
    }

    fn result(&mut self, position: usize, record: &Record, owned: bool, result: &ToolResult) {
        let Some(&(turn, step)) = self.calls.get(&result.id) else { return };
        let open = &mut self.turns[turn];
        open.last = position;
        let StepKind::Call(call) = &mut open.turn.steps[step].what else { return };
        if call.result_uuid.is_some() {
            return;
        }
        fill(call, record, result);
        if let Some(change) = self.changes.get(&result.id) {
            if !result.failed && !result.denied {
                self.tasks.apply(change, &result.task);
            }
            call.input = Input::Todos { items: self.tasks.items() };
        }
        self.turn_of.insert(record.uuid.clone(), turn);
        if !result.said.is_empty() {
            let what = StepKind::Queued { text: result.said.clone() };
            self.step(position, record, owned, "", what);
        }
    }

    /// Marks the turns that the user rewound. Such a turn is not on the path to the last turn, and ended before the
    /// turn that replaced it began.
    fn mark_rewound(&mut self) {
        let mut at = self.turns.len().checked_sub(1);
        while let Some(live) = at {
            let (after, first) = (self.turns[live].after, self.turns[live].first);
            let from = after.map_or(0, |after| after + 1);
            for abandoned in from..live {
                let open = &mut self.turns[abandoned];
                open.turn.rewound = open.last < first;
            }
            at = after;
        }
    }

    fn finish(self) -> Vec<Turn> {
        self.turns.into_iter().filter_map(owned_turn).collect()
    }
}

/// Returns the part of a turn that this session owns; `None` if it owns no part.
fn owned_turn(open: Open) -> Option<Turn> {
    let mut turn = open.turn;
    let mut owned = open.steps.iter().map(|(owned, _)| *owned);
    turn.steps.retain(|_| owned.next().unwrap_or(true));
    if open.owned {
        return Some(turn);
    }
    if turn.steps.is_empty() {
        return None;
    }
    turn.prompt = Prompt { by: PromptBy::Machine, ..Prompt::default() };
    Some(turn)
}

fn fill(call: &mut Call, record: &Record, result: &ToolResult) {
    call.result_uuid = Some(record.uuid.clone());
    call.failed = result.failed;
    call.denied = result.denied;
    call.interrupted = result.interrupted;
    call.changed = result.changed;
    let echo = memory_echo::is_memory_tool(&call.tool) || reads_memory(&call.input);
    call.output = if echo { String::new() } else { result.output.clone() };
    match &mut call.input {
        Input::Question { asked } => answer(asked, result),
        Input::Plan { plan } if plan.is_empty() => plan.clone_from(&result.plan),
        _ => {}
    }
}

fn reads_memory(input: &Input) -> bool {
    match input {
        Input::Shell { command, .. } => memory_echo::reads_memory(command),
        Input::Read { path } | Input::Edit { path, .. } => memory_echo::is_memory_path(path),
        Input::Search { path, .. } => {
            memory_echo::is_memory_path(path) || memory_echo::is_memory_path(&format!("{path}/"))
        }
        Input::Question { .. }
        | Input::Plan { .. }
        | Input::Todos { .. }
        | Input::Agent { .. }
        | Input::Other { .. }
        | Input::Unknown => false,
    }
}

fn answer(asked: &mut Vec<(String, String)>, result: &ToolResult) {
    if asked.is_empty() {
        asked.clone_from(&result.answers);
        return;
    }
    for (question, answer) in &result.answers {
        let same = |(text, _): &&mut (String, String)| {
            text == question
                || text.strip_prefix(question.as_str()).is_some_and(|rest| rest.starts_with('\n'))
        };
        if let Some((_, place)) = asked.iter_mut().find(same) {
            place.clone_from(answer);
        }
    }
    if let [(_, place)] = asked.as_mut_slice()
        && place.is_empty()
        && !result.failed
        && !result.denied
    {
        place.clone_from(&result.output);
    }
}
