//! Prompts typed while Claude was busy. The same words can occur in a transcript up to three times: put into the queue,
//! attached to a running turn, and as a prompt of their own.

use super::record::{Record, RecordWhat};

/// Maximum number of entries of the queue that are examined in one session.
const QUEUED_MAX: usize = 2_000;

/// Bytes at the beginning of a long prompt by which it is recognised.
const HEAD_BYTES: usize = 80;

/// A prompt that was put into the queue.
struct QueuedPrompt<'a> {
    position: usize,
    text: &'a str,
    taken_up: bool,
}

/// Returns the positions of the `Enqueue` records whose words occur in no other record and were not removed.
pub fn only_queued(records: &[&Record]) -> Vec<usize> {
    let mut queue: Vec<QueuedPrompt<'_>> = Vec::new();
    for (position, record) in records.iter().enumerate() {
        match &record.what {
            RecordWhat::Enqueue { text } if queue.len() < QUEUED_MAX => {
                queue.push(QueuedPrompt { position, text: text.trim(), taken_up: false });
            }
            RecordWhat::Dequeue => {
                if let Some(first) = queue.iter_mut().find(|waiting| !waiting.taken_up) {
                    first.taken_up = true;
                }
            }
            RecordWhat::PopAll => queue.retain(|waiting| waiting.taken_up),
            RecordWhat::Prompt { text, .. } => queue.retain(|waiting| !holds(text, waiting.text)),
            RecordWhat::Queued { text } => {
                if let Some(same) = queue.iter().position(|waiting| waiting.text == text.trim()) {
                    queue.remove(same);
                }
            }
            _ => {}
        }
    }
    queue.retain(|waiting| !waiting.text.is_empty() && !is_bare_command(waiting.text));
    queue.into_iter().map(|waiting| waiting.position).collect()
}

/// Returns whether a prompt is this queued one, or several with this one among them.
fn holds(prompt: &str, queued: &str) -> bool {
    if queued.is_empty() {
        return false;
    }
    // A long prompt may have another form at its end in the queue.
    let head = queued.floor_char_boundary(HEAD_BYTES);
    if queued.len() > HEAD_BYTES && prompt.starts_with(&queued[..head]) {
        return true;
    }
    prompt.match_indices(queued).any(|(start, _)| {
        let (before, after) = (&prompt[..start], &prompt[start + queued.len()..]);
        (before.is_empty() || before.ends_with('\n'))
            && (after.is_empty() || after.starts_with('\n'))
    })
}

/// Returns whether a text is a slash command without arguments, which has no content.
fn is_bare_command(text: &str) -> bool {
    text.starts_with('/') && !text.trim().contains(char::is_whitespace)
}
