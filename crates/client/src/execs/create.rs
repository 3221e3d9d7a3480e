//! Creating an exec, at most once.

use std::mem;

use futures_util::future::LocalBoxFuture;
use sandpipe_protocol::{CreateExecRequest, ExecItem};
use uuid::Builder;

use crate::http::{JSON, MediaType, OUTPUT_OR_JSON, Request, ResponseBody, read_json};
use crate::output::{Decoder, Message};
use crate::{Agent, Call, Error, Feature, Operation, Result};

const OPERATION: Operation = Operation::CreateExec;

/// Creates an exec, at most once; [`Error::CreateUnknown`] where it may have been created.
pub fn create(agent: &Agent, exec: CreateExecRequest) -> Call<ExecItem> {
    let agent = agent.clone();
    Box::pin(async move {
        let creation = Creation::prepare(&agent, &exec, false).await?;
        Ok(creation.send(&agent).await?.exec)
    })
}

/// What a create gives.
pub(crate) struct Created {
    pub(crate) exec: ExecItem,
    /// The stream of its output from the first event on, where that came with the answer.
    pub(crate) output: Option<ResponseBody>,
}

/// A create that is ready to be sent, and has not been.
pub(crate) struct Creation {
    command: String,
    request: Request,
    /// The agent knows a repeated create for what it is.
    is_idempotent: bool,
    /// The answer may go on with the output.
    with_output: bool,
}

impl Creation {
    /// Asks the agent for what it takes to create an exec. Nothing is created.
    ///
    /// `with_output`: the output is wanted as well, and comes with the answer where the agent can do that.
    pub(crate) async fn prepare(
        agent: &Agent,
        exec: &CreateExecRequest,
        with_output: bool,
    ) -> Result<Self> {
        if agent.http.is_closed() {
            // Nothing has been sent, and nothing will be.
            return Err(Error::Closed.into());
        }
        let mut request = Request::post(OPERATION, "/api/v1/execs".to_owned(), exec);
        let offered = agent.offers(Feature::IdempotencyKey).await;
        // To the caller it is the create that failed.
        let is_idempotent = offered.map_err(Error::of_refused_create)?;
        // Another agent would run it with all of its rights.
        if exec.policy.is_some() && !agent.offers(Feature::Policy).await? {
            let feature = Feature::Policy.name();
            return Err(Error::Unsupported { feature, what: "`options.policy`" }.into());
        }
        if is_idempotent {
            request.idempotency_key = Some(key(agent));
        }
        // The answer takes as long as the command: the key makes up for one that is cut.
        let with_output =
            with_output && is_idempotent && agent.offers(Feature::CreateStream).await?;
        Ok(Self { command: exec.command.clone(), request, is_idempotent, with_output })
    }

    /// Creates the exec, at most once: the request is repeated where the agent knows a repeated
    /// create for what it is, or can't have seen the one before.
    ///
    /// # Errors
    /// [`Error::CreateUnknown`] where it may have been created.
    pub(crate) fn send<'a>(&'a self, agent: &'a Agent) -> LocalBoxFuture<'a, Result<Created>> {
        Box::pin(self.attempts(agent, self.with_output, false))
    }

    /// Asks anew for the exec that is being created, where the answer may be held back on its way until
    /// the command has ended. None where that would be no use, or could run it twice.
    pub(crate) fn ask_again<'a>(
        &'a self,
        agent: &'a Agent,
    ) -> Option<LocalBoxFuture<'a, Result<Created>>> {
        self.with_output
            .then(|| -> LocalBoxFuture<'a, _> { Box::pin(self.attempts(agent, false, true)) })
    }

    /// The output is asked for with the first attempt alone.
    async fn attempts(
        &self,
        agent: &Agent,
        mut with_output: bool,
        mut may_exist: bool,
    ) -> Result<Created> {
        let attempt = async || {
            let accept = if mem::take(&mut with_output) { OUTPUT_OR_JSON } else { JSON };
            let request = Request { accept, ..self.request.clone() };
            let answer = match agent.http.open(&request).await {
                Err(error) => Err(error),
                Ok(body) if body.media_type != MediaType::Json => read_stream(body).await,
                Ok(mut body) => body.read_to_end().await.and_then(|body| {
                    // It has been created, and the answer was cut or is not well said; unless a page
                    // was the answer, and nothing shows that an agent is there.
                    let is_page = body.trim_ascii_start().starts_with(b"<");
                    let created = !is_page || agent.was_seen();
                    let exec = read_json(OPERATION, &body).inspect_err(|_| may_exist |= created)?;
                    Ok(Created { exec, output: None })
                }),
            };
            may_exist |= answer.as_ref().is_err_and(|error| match **error {
                Error::Protocol { .. } => agent.was_seen(),
                _ => self.is_ambiguous(error),
            });
            answer
        };
        let may_repeat = |error: &Error| self.is_idempotent || !self.is_ambiguous(error);
        agent.http.repeat(OPERATION, may_repeat, attempt).await.map_err(|error| {
            let proven = self.is_idempotent && proves_refusal(&error);
            if may_exist && !proven { self.unknown(error) } else { error.of_refused_create() }
        })
    }

    /// The error that says that it may have been created.
    pub(crate) fn unknown(&self, cause: Box<Error>) -> Box<Error> {
        match *cause {
            Error::CreateUnknown { .. } => cause,
            _ => Box::new(Error::CreateUnknown { command: self.command.clone(), cause }),
        }
    }

    /// Whether the exec may have been created although this was the answer.
    fn is_ambiguous(&self, error: &Error) -> bool {
        match error {
            // An agent that knows keys says of its own lack that nothing was created; what another
            // one, or a gateway, means by such a status is not known.
            Error::Http { status: 500 | 503, message: Some(_), .. } => !self.is_idempotent,
            Error::Closed | Error::Thrown(_) => true,
            error => error.is_ambiguous(),
        }
    }
}

/// A random key, as a UUID of version 4 (RFC 9562, 5.4).
fn key(agent: &Agent) -> String {
    Builder::from_random_bytes(agent.http.host().random_bytes()).into_uuid().to_string()
}

/// Reads a stream that begins with the exec, as far as that.
async fn read_stream(mut output: ResponseBody) -> Result<Created> {
    let mut decoder = Decoder::of(output.media_type);
    let mut head = Vec::new();
    let mut exec = None;
    let exec = loop {
        if let Some(exec) = exec {
            break exec?;
        }
        let Ok(chunk) = output.read_unless_idle().await else {
            return Err(output.cut_off("the answer did not say within 45 s what was created"));
        };
        let Some(chunk) = chunk? else {
            return Err(output.cut_off("the answer ended before it said what was created"));
        };
        head.extend_from_slice(chunk);
        let fed = decoder.feed(chunk, &mut |message| {
            if let Message::Exec(json) = message {
                exec.get_or_insert_with(|| read_json(OPERATION, json));
            }
        });
        fed.map_err(|broken| output.cut_off(&broken.to_string()))?;
    };
    // The events of the output that came with it are still to be read.
    output.put_back = head;
    Ok(Created { exec, output: Some(output) })
}

/// Whether an answer to a key shows that no create of that key has succeeded: one that had would
/// have been given again.
fn proves_refusal(error: &Error) -> bool {
    matches!(error, Error::Http { status: 400 | 422 | 500, message: Some(_), .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn creation(is_idempotent: bool) -> Creation {
        let request = Request::get(OPERATION, String::new());
        Creation { command: "x".into(), request, is_idempotent, with_output: false }
    }

    fn http(status: u16, message: Option<&str>) -> Error {
        Error::Http {
            operation: OPERATION,
            status,
            message: message.map(str::to_owned),
            body: String::new(),
            retry_after_ms: None,
            max_delay_ms: None,
            not_run: false,
        }
    }

    #[test]
    fn an_agent_that_knows_keys_is_believed_when_it_refuses() {
        for status in [500, 503] {
            assert!(!creation(true).is_ambiguous(&http(status, Some("no room"))), "{status}");
        }
        assert!(proves_refusal(&http(400, Some("no"))));
        for status in [401, 409, 429, 503] {
            assert!(!proves_refusal(&http(status, Some("no"))), "{status}");
        }
    }
}
