//! Answers faulty lines, and filters messages before the handshake. Until then the library ends at any message other
//! than a request, but a restarted client may still send notifications about its previous session.

use rmcp::RoleServer;
use rmcp::model::{ErrorData, JsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc::UnboundedReceiver;

use super::MESSAGE_BYTES_MAX;
use crate::input::InputFault;

/// A transport that answers faulty lines, and skips messages other than requests until the client has begun.
pub struct Patient<T> {
    inner: T,
    has_begun: bool,
    faults: UnboundedReceiver<InputFault>,
}

impl<T> Patient<T> {
    /// Waits for the first request over `inner`, whose reader reports `faults`.
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
            // After answers to `ping` and `server/discover`, and after errors, the handshake is still to come.
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
                // Sent in a separate task, since reading must not wait for the answer.
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

/// Returns the answer to a line that is no message. It has no id, since none can be read.
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
