//! Reading a file as the base interface has it: all of it, as JSON.

use sandpipe_protocol::{FileEncoding, FileReadResponse};

use super::Target;
use super::base64::decode;
use crate::http::Request;
use crate::{Agent, Error, Operation, Result};

const OPERATION: Operation = Operation::ReadFile;

/// All bytes of a file.
pub(super) async fn read_base(agent: &Agent, target: &Target) -> Result<Vec<u8>> {
    let request = Request::get(OPERATION, target.url("/api/v1/files", &[]));
    let file: FileReadResponse = agent.http.ask(request).await?;
    match file.encoding {
        FileEncoding::Utf8 => Ok(file.content.into_bytes()),
        FileEncoding::Base64 => decode(&file.content).ok_or_else(|| {
            let problem = "the content is not base64".to_owned();
            let excerpt = crate::http::excerpt(file.content.as_bytes());
            Error::Protocol { operation: OPERATION, problem, excerpt }.into()
        }),
    }
}
