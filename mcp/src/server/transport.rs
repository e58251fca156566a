//! Answers invalid lines, and filters messages before the handshake. Before it, the library ends the connection at any
//! message other than a request; but a restarted client may still send notifications about its previous session.

use rmcp::RoleServer;
use rmcp::model::{ErrorData, JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc::UnboundedReceiver;

use super::MESSAGE_BYTES_MAX;
use crate::input::InputFault;

/// A transport that answers invalid lines, and skips messages other than requests until the handshake has begun.
pub struct Patient<T> {
    inner: T,
    has_begun: bool,
    faults: UnboundedReceiver<InputFault>,
}

impl<T> Patient<T> {
    /// Returns a transport over `inner`. The reader of `inner` reports `faults`.
    pub fn new(inner: T, faults: UnboundedReceiver<InputFault>) -> Self {
        Self { inner, has_begun: false, faults }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Patient<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        if let JsonRpcMessage::Response(response) = &item {
            // Answers to `ping` and `server/discover`, and errors, do not begin the handshake.
            self.has_begun |= !matches!(
                response.result,
                ServerResult::EmptyResult(_) | ServerResult::DiscoverResult(_)
            );
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = tokio::select! {
                biased;
                // The answer is sent in a separate task, so that reading does not wait until it is sent.
                Some(fault) = self.faults.recv() => {
                    tokio::spawn(self.inner.send(answer(fault)));
                    continue;
                }
                message = self.inner.receive() => message,
            };
            let Some(message) = message else {
                while let Ok(fault) = self.faults.try_recv() {
                    self.inner.send(answer(fault)).await.ok()?;
                }
                return None;
            };
            if self.has_begun || matches!(message, JsonRpcMessage::Request(_)) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

/// Returns the answer to an invalid line. The answer has no id, since the id of the line cannot be read.
fn answer(fault: InputFault) -> ServerJsonRpcMessage {
    let error = match fault {
        InputFault::TooLong => {
            let mib = MESSAGE_BYTES_MAX >> 20;
            ErrorData::invalid_request(
                format!("a message may have at most {mib} MiB: this one was not read"),
                None,
            )
        }
        InputFault::Unparsable => {
            ErrorData::parse_error("a line that is not JSON was not read", None)
        }
    };
    ServerJsonRpcMessage::error(error, None)
}
