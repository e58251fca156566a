//! Filters messages before the handshake. The library ends at any message but a request, where a client that was
//! started again may still tell about requests of its former life.

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// A transport that passes over what is no request until a client has begun.
pub struct Patient<T> {
    inner: T,
    has_begun: bool,
}

impl<T> Patient<T> {
    /// Waits for the first request over `inner`.
    pub fn new(inner: T) -> Self {
        Self { inner, has_begun: false }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Patient<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message: ClientJsonRpcMessage = self.inner.receive().await?;
            if self.has_begun {
                return Some(message);
            }
            if let JsonRpcMessage::Request(request) = &message {
                // These two leave open how the client goes on.
                self.has_begun = !matches!(
                    request.request,
                    ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)
                );
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
