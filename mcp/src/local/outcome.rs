//! The outcome of a session, saved in one call at its end. Each decision and each open task becomes a note, with the
//! same checks as all notes. The processor reads the whole outcome from the call, and adds it to the session record.

use memory_store::Kind;

use super::Local;
use crate::backend::{RememberRequest, RememberResponse, ToolError};
use crate::request::Outcome;

impl Local {
    /// Saves the decisions and the open tasks of a session.
    pub(super) fn save_outcome(
        &self,
        outcome: &Outcome,
        request: &RememberRequest,
    ) -> Result<RememberResponse, ToolError> {
        let of_kind = |kind: Kind, texts: &[String]| -> Vec<RememberRequest> {
            let note = |text: &String| RememberRequest {
                kind: Some(kind),
                agent: request.agent.clone(),
                check: request.check,
                ..RememberRequest::titled(text)
            };
            texts.iter().map(note).collect()
        };
        let notes = [of_kind(Kind::Decision, &outcome.decided), of_kind(Kind::Task, &outcome.open)];
        let saved = notes.concat().into_iter().map(|note| self.remember(note));
        let saved: Vec<RememberResponse> = saved.collect::<Result<_, _>>()?;
        let change = if request.check { "checked" } else { "recorded" };
        let note = (!outcome.done.is_empty() && !request.check)
            .then(|| "What was done is in the record of this session, once it is read.".to_owned());
        Ok(RememberResponse {
            change: change.to_owned(),
            saved,
            note,
            ..RememberResponse::default()
        })
    }
}
