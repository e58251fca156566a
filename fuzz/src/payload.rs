//! The payload of a hook.

use hooks::event::Event;
use hooks::payload::Payload;

/// A payload must be read the same way, however it is divided into pieces.
pub(crate) fn run(bytes: &[u8]) {
    let (&size, bytes) = bytes.split_first().unwrap_or((&0, &[]));
    let whole = Payload::from_chunks([bytes]);
    let cut = Payload::from_chunks(bytes.chunks(usize::from(size).max(1)));
    assert_eq!(whole, cut);
    Event::from_payload(whole, None);
}
