//! The list of tasks of `TaskCreate` and `TaskUpdate`. Each of these calls contains one change; a session contains the
//! whole list after the change, as with `TodoWrite`.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::cut;
use super::record::{Record, RecordWhat, TaskChange};
use super::session::Todo;

/// Maximum number of tasks, and maximum number of bytes of each text, that are passed from one part of a session to the
/// next.
const CARRIED_MAX: usize = 64;
const CARRIED_BYTES_MAX: usize = 256;

/// The tasks in the order of creation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tasks {
    tasks: Vec<(String, Todo)>,
    created: usize,
}

impl Tasks {
    /// The empty list.
    pub const NONE: Self = Self { tasks: Vec::new(), created: 0 };

    /// Returns whether no task was created so far.
    pub fn is_none(&self) -> bool {
        self.created == 0 && self.tasks.is_empty()
    }

    /// Returns the list at the beginning of the next part of a session, which follows these records.
    pub fn after(&self, records: &[Record]) -> Self {
        let mut list = self.clone();
        let mut changes: HashMap<&str, &TaskChange> = HashMap::new();
        for record in records.iter().filter(|record| !record.side) {
            match &record.what {
                RecordWhat::Call { id, task: Some(task), .. } => drop(changes.insert(id, task)),
                // If a call has several results, the first one counts.
                RecordWhat::Result(result) => {
                    let change = changes.remove(result.id.as_str());
                    let change = change.filter(|_| !result.failed && !result.denied);
                    change.into_iter().for_each(|change| list.apply(change, &result.task));
                }
                _ => {}
            }
        }
        // The oldest tasks are dropped, because they are the least useful.
        list.tasks.drain(..list.tasks.len().saturating_sub(CARRIED_MAX));
        for (_, todo) in &mut list.tasks {
            todo.text = cut::middle(&todo.text, CARRIED_BYTES_MAX).into_owned();
            todo.state = cut::middle(&todo.state, CARRIED_BYTES_MAX).into_owned();
        }
        list
    }

    /// Applies a change. `id` is the id of a new task in the result; if it is empty, the task's number is used.
    pub fn apply(&mut self, change: &TaskChange, id: &str) {
        match change {
            TaskChange::Create { text } => {
                self.created += 1;
                let id = if id.is_empty() { self.created.to_string() } else { id.to_owned() };
                let todo = Todo { text: text.clone(), state: "pending".to_owned() };
                self.tasks.retain(|(known, _)| *known != id);
                self.tasks.push((id, todo));
            }
            TaskChange::Update { id, state, .. } if state == "deleted" => {
                self.tasks.retain(|(known, _)| known != id);
            }
            TaskChange::Update { id, state, text } => {
                let Some((_, todo)) = self.tasks.iter_mut().find(|(known, _)| known == id) else {
                    return;
                };
                if !state.is_empty() {
                    todo.state.clone_from(state);
                }
                if !text.is_empty() {
                    todo.text.clone_from(text);
                }
            }
        }
    }

    /// Returns the current list.
    pub fn items(&self) -> Vec<Todo> {
        self.tasks.iter().map(|(_, todo)| todo.clone()).collect()
    }
}
