//! The list of tasks that `TaskCreate` and `TaskUpdate` keep: each call shows one change, the
//! session shows the whole list after it, as `TodoWrite` did.

use super::record::TaskChange;
use super::session::Todo;

/// The list, in the order of creation.
#[derive(Debug, Default)]
pub struct Tasks {
    tasks: Vec<(String, Todo)>,
    created: usize,
}

impl Tasks {
    /// Applies a change; `id` is what the result called a new task.
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

    /// The list as it stands.
    pub fn items(&self) -> Vec<Todo> {
        self.tasks.iter().map(|(_, todo)| todo.clone()).collect()
    }
}
