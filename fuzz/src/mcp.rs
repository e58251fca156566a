//! Arguments of the MCP server's tools.

use mcp::arguments::Given;
use mcp::backend::{RecallRequest, RememberRequest, SessionsRequest};
use mcp::request::id;
use mcp::tools::Tool;
use serde_json::Value;

/// Whatever a client sends is a request within the bounds, or is refused.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(Value::Object(object)) = serde_json::from_slice(bytes) else { return };
    let given = |tool: Tool| Given::read(tool.name(), tool.arguments(), Some(object.clone()));
    if let Ok(request) = given(Tool::Recall).and_then(|mut given| RecallRequest::read(&mut given)) {
        assert!((1..=50).contains(&request.page.limit) && request.page.skip <= 500);
        assert!(request.query.is_none_or(|query| !query.trim().is_empty()));
    }
    if let Ok(request) =
        given(Tool::SearchSessions).and_then(|mut given| SessionsRequest::read(&mut given))
    {
        assert!((1..=50).contains(&request.page.limit) && request.page.skip <= 500);
        assert!(request.turns.is_none_or(|(first, last)| 1 <= first && first <= last));
    }
    if let Ok(request) =
        given(Tool::Remember).and_then(|mut given| RememberRequest::read(&mut given))
    {
        assert!(request.id.is_some() || !request.title.is_empty());
        assert!(!request.title.contains('\n'));
    }
    if let Ok(id) = given(Tool::Forget).and_then(|mut given| id(&mut given)) {
        assert!(!id.is_empty());
    }
}
