//! Arguments of the MCP server's tools.

use mcp::backend::{ForgetRequest, RecallRequest, RememberRequest, SessionsRequest};
use serde_json::Value;

/// Checks that arguments are either rejected or become a request within the limits.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(Value::Object(object)) = serde_json::from_slice(bytes) else { return };
    if let Ok((request, _)) = RecallRequest::read(object.clone()) {
        assert!((1..=50).contains(&request.page.limit) && request.page.skip <= 500);
        assert!(request.query.is_none_or(|query| !query.trim().is_empty()));
    }
    if let Ok((request, _)) = SessionsRequest::read(object.clone()) {
        assert!((1..=50).contains(&request.page.limit) && request.page.skip <= 500);
        assert!(request.turns.is_none_or(|(first, last)| 1 <= first && first <= last));
    }
    if let Ok((request, _)) = RememberRequest::read(object.clone()) {
        assert!(request.id.is_some() || !request.title.is_empty());
        assert!(!request.title.contains('\n'));
    }
    if let Ok((id, _)) = ForgetRequest::read(object) {
        assert!(!id.is_empty());
    }
}
