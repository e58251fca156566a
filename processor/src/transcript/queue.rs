//! Prompts that were typed while Claude was busy. A transcript may contain such a prompt up to three times: when it was
//! put into the queue, as an attachment of a running turn, and as a separate prompt.

use super::record::{Record, RecordWhat};

/// Maximum number of queue entries of one session that are examined.
const QUEUED_MAX: usize = 2_000;

/// Number of bytes at the beginning of a long prompt that are compared.
const HEAD_BYTES: usize = 80;

/// A prompt that was put into the queue.
struct QueuedPrompt<'a> {
    position: usize,
    text: &'a str,
    taken_up: bool,
}

/// Returns the positions of the `Enqueue` records whose words occur in no other record, and that were not removed from
/// the queue.
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

/// Returns whether a prompt is this queued prompt, or consists of several including this one.
fn holds(prompt: &str, queued: &str) -> bool {
    if queued.is_empty() {
        return false;
    }
    // In the queue, the end of a long prompt may differ.
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
