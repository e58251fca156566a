//! Arguments of the MCP server's tools.

use mcp::backend::{RecallRequest, RememberRequest, SessionsRequest};
use mcp::schema::{ForgetWire, RecallWire, RememberWire, SessionsWire, arguments};
use serde_json::Value;

/// Whatever a client sends is a request within the bounds, or is refused.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(Value::Object(object)) = serde_json::from_slice(bytes) else { return };
    let object = || Some(object.clone());
    if let Ok(request) = arguments::<RecallWire>(object()).and_then(RecallRequest::try_from) {
        assert!(!request.query.trim().is_empty() && (1..=50).contains(&request.page.limit));
    }
    if let Ok(request) = arguments::<SessionsWire>(object()).and_then(SessionsRequest::try_from) {
        assert!(!request.query.trim().is_empty() && request.page.skip <= 500);
    }
    if let Ok(request) = arguments::<RememberWire>(object()).and_then(RememberRequest::try_from) {
        assert!(!request.title.is_empty() && !request.title.contains('\n'));
    }
    drop(arguments::<ForgetWire>(object()));
}
