use std::io;

use axum::{body::Bytes, extract::State, response::Response};
use sandpipe_protocol::{PortsListResponse, sse::encode_event};
use tokio::sync::watch;

use crate::{
    http::{
        App,
        error::ApiError,
        event_stream::{self, Source},
        execs::responses::{ApiErrors, Failed},
        output_format::OutputFormat,
    },
    ports::PortsStream,
};

/// Stream the list of the ports that are listened on as Server-Sent Events: at once, and whenever it has changed.
#[utoipa::path(
    get,
    path = "/api/v1/stream/ports",
    operation_id = "streamPorts",
    tag = "ports",
    responses(
        (
            status = 200, description = "The lists",
            content((PortsListResponse = "text/event-stream"))
        ),
        ApiErrors, Failed,
    )
)]
pub(crate) async fn stream_ports(State(app): State<App>) -> Result<Response, ApiError> {
    let source = PortsSource { ports: app.ports.stream().await?, over: app.over };
    let format = OutputFormat::Events;
    Ok(event_stream::respond(app.ping_interval, format, format.beginning(), source))
}

struct PortsSource {
    ports: PortsStream,
    over: watch::Receiver<bool>,
}

impl Source for PortsSource {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let list = tokio::select! {
            list = self.ports.next() => list.map_err(io::Error::other)?,
            _ = self.over.wait_for(|over| *over) => return Ok(None),
        };
        let mut bytes = Vec::new();
        encode_event(&mut bytes, "", &serde_json::to_string(&list)?);
        Ok(Some(bytes.into()))
    }
}
