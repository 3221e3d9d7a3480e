//! The network between the client and the agent: it takes time, and has the faults of a plan.

mod body;
mod socket;

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use futures_util::stream::{self, LocalBoxStream, StreamExt};
use sandpipe_client::host::{HttpRequest, HttpResponse, NoResponse, RequestBody, Socket};
use sandpipe_protocol::ExecStatus;

use crate::agent::SimAgent;
use crate::agent::response::{Response, error, whole};
use crate::executor::{Executor, Owner, Sleep};
use crate::faults::{Fault, FaultPlan, Kind, RetryAfter, is_repeatable};
use crate::setup::Setup;
use crate::world::Trace;
use body::{SimBody, first_events};
use socket::SimSocket;

/// The agent's address.
pub(crate) const URL: &str = "http://agent";

/// The way to an agent.
pub(crate) struct Network {
    executor: Executor,
    agent: Rc<SimAgent>,
    pub(crate) faults: FaultPlan,
    trace: Rc<Trace>,
    random: RefCell<fastrand::Rng>,
    setup: Rc<Setup>,
    requests: Cell<u32>,
    /// How many requests and answers are not over.
    connections: Rc<Cell<u32>>,
}

impl Network {
    pub(crate) fn new(
        executor: Executor,
        agent: Rc<SimAgent>,
        faults: FaultPlan,
        trace: Rc<Trace>,
        setup: Rc<Setup>,
    ) -> Self {
        let random = RefCell::new(fastrand::Rng::with_seed(!setup.seed));
        let (requests, connections) = Default::default();
        Self { executor, agent, faults, trace, random, setup, requests, connections }
    }

    /// How many requests there have been.
    pub(crate) fn requests(&self) -> u32 {
        self.requests.get()
    }

    /// How many requests and answers are not over.
    pub(crate) fn connections(&self) -> u32 {
        self.connections.get()
    }

    /// Sends a request. The agent acts on it also where the client does not wait for that.
    pub(crate) async fn send(
        self: Rc<Self>,
        request: HttpRequest,
    ) -> Result<HttpResponse, NoResponse> {
        let cancel = request.cancel.clone();
        let _open = Open::new(&self.connections);
        let sent = pin!(self.exchange(request));
        match select(sent, pin!(cancel.aborted())).await {
            Either::Left((response, _)) => response,
            Either::Right(_) => Err(broken("the request was aborted")),
        }
    }

    /// Opens a WebSocket.
    pub(crate) async fn open_socket(self: Rc<Self>, url: String) -> Option<Box<dyn Socket>> {
        let _open = Open::new(&self.connections);
        self.requests.set(self.requests.get() + 1);
        let fault = self.faults.next(self.executor.now_ms(), Kind::Socket, "", true);
        self.trace.add(|| format!("#{} WebSocket {url} {fault:?}", self.requests()));
        self.pause().await;
        match fault {
            Some(Fault::Cut { .. } | Fault::Stall { .. } | Fault::Page) | None => {}
            Some(Fault::Late(ms) | Fault::Delayed(ms)) => self.executor.sleep(ms).await,
            Some(_) => return None,
        }
        let (path, query) = url.strip_prefix("ws://agent/ws/v1/execs/")?.split_once('?')?;
        let exec = self.agent.exec(path)?;
        let last = query.strip_prefix("lastSequence=")?.parse().ok()?;
        Some(Box::new(SimSocket::open(&self, exec, last, fault)))
    }

    async fn exchange(&self, request: HttpRequest) -> Result<HttpResponse, NoResponse> {
        self.requests.set(self.requests.get() + 1);
        let number = self.requests();
        let address = request.url.strip_prefix(URL).expect("the agent's address");
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let kind = Kind::of(request.method, path).expect("a path of the agent's");
        let body = match &request.body {
            Some(RequestBody::Json(json)) => json.clone(),
            Some(RequestBody::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            // None is written here.
            Some(RequestBody::Tar(_)) => "a tar stream".to_owned(),
            None => String::new(),
        };
        let content = [path, &body].concat();
        let fault =
            self.faults.next(self.executor.now_ms(), kind, &content, is_repeatable(kind, &request));
        self.trace
            .add(|| format!("#{number} {} {address} {body} {fault:?}", request.method.as_str()));
        let mut query = query.to_owned();
        let mut late_ms = 0.0;
        // What has been sent arrives, also where the client has given it up.
        let delay_ms = if let Some(Fault::Delayed(ms)) = fault { ms } else { 0.0 };
        let on_its_way = self.executor.sleep(self.pause_ms() + delay_ms);
        match fault {
            Some(Fault::Refused) => {
                on_its_way.await;
                return Err(NoResponse { never_sent: true, ..broken("connection refused") });
            }
            Some(Fault::Lost { acted: false }) => {
                on_its_way.await;
                return Err(broken("connection reset"));
            }
            Some(page @ (Fault::Page | Fault::StalledPage)) => {
                on_its_way.await;
                let stall = Fault::Stall { after: 0, ms: f64::INFINITY };
                let fault = (page == Fault::StalledPage).then_some(stall);
                let page = b"<html>A gateway's page</html>".to_vec();
                return Ok(self.respond(&request, whole(200, "text/html", page), None, fault));
            }
            Some(Fault::Status { status, retry_after, acted: false, is_agents }) => {
                on_its_way.await;
                return Ok(self.refuse(&request, status, retry_after, is_agents));
            }
            // An agent that drops events reports a gap where a stream begins.
            Some(Fault::Repeat(events)) if self.setup.keeps_all_events() => {
                query = earlier(&query, events);
            }
            Some(Fault::Late(ms)) => late_ms = ms,
            _ => {}
        }
        let (sender, receiver) = oneshot::channel();
        let (agent, sent_to, sent) = (self.agent.clone(), path.to_owned(), request.clone());
        self.executor.spawn(Owner::Simulation, async move {
            on_its_way.await;
            let response = agent.handle(kind, &sent_to, &query, &sent).await;
            // The client may be gone.
            drop(sender.send(response));
        });
        let mut response = receiver.await.map_err(|_| broken("the agent is gone"))?;
        self.pause().await;
        self.executor.sleep(late_ms).await;
        self.trace.add(|| format!("#{number} is answered {}", response.status));
        if matches!(kind, Kind::StreamOutput | Kind::StreamList) {
            response = self.end_early(kind, path, response, fault);
        }
        match fault {
            Some(Fault::Lost { .. }) => Err(broken("connection reset")),
            Some(Fault::Status { status, retry_after, .. }) => {
                Ok(self.refuse(&request, status, retry_after, false))
            }
            fault => Ok(self.respond(&request, response, None, fault)),
        }
    }

    /// A stream as a proxy ends it. What has ended is streamed to its end.
    fn end_early(
        &self,
        kind: Kind,
        path: &str,
        response: Response,
        fault: Option<Fault>,
    ) -> Response {
        let Response { status, content_type, file, body } = response;
        let id = path.split('/').nth_back(1).unwrap_or_default();
        let exec = self.agent.exec(id);
        // Without the agent's word for it nobody knows that more is to come.
        let says_running = self.setup.running == ExecStatus::Running;
        let runs = exec.is_none_or(|exec| says_running && !exec.state().has_ended());
        let body = match (fault, self.setup.stream_ms) {
            (Some(Fault::EndAfter(events)), _) => first_events(body, content_type, events),
            (Some(Fault::EndEmpty), _) if runs => stream::empty().boxed_local(),
            (_, Some(ms)) if runs => {
                // The list comes after 50 ms.
                let ms = if kind == Kind::StreamList { ms.max(100.0) } else { ms };
                body.take_until(self.executor.sleep(ms)).boxed_local()
            }
            _ => body,
        };
        Response { status, content_type, file, body }
    }

    /// A gateway's error, or the agent's.
    fn refuse(
        &self,
        request: &HttpRequest,
        status: u16,
        retry_after: Option<RetryAfter>,
        is_agents: bool,
    ) -> HttpResponse {
        let retry_after = retry_after.map(|retry_after| match retry_after {
            RetryAfter::Seconds(seconds) => seconds.to_string(),
            RetryAfter::Date(ms) => format!("at {}", self.executor.now_ms() + ms),
        });
        let response = if is_agents {
            error(status, "the agent does not want to")
        } else if self.random.borrow_mut().bool() {
            whole(status, "text/html", b"<html>A gateway's error</html>".to_vec())
        } else {
            whole(status, "application/json", br#"{"error":"a gateway's"}"#.to_vec())
        };
        self.respond(request, response, retry_after, None)
    }

    fn respond(
        &self,
        request: &HttpRequest,
        response: Response,
        retry_after: Option<String>,
        fault: Option<Fault>,
    ) -> HttpResponse {
        let Response { status, content_type, file, body } = response;
        let body = SimBody::new(
            self.executor.clone(),
            body,
            &request.cancel,
            fault,
            self.setup.max_chunk,
            Open::new(&self.connections),
        );
        HttpResponse {
            status,
            content_type: Some(content_type.to_owned()),
            retry_after,
            file,
            body: Some(Box::new(body)),
        }
    }

    /// The time that bytes take.
    fn pause(&self) -> Sleep {
        self.executor.sleep(self.pause_ms())
    }

    fn pause_ms(&self) -> f64 {
        self.random.borrow_mut().f64() * 4.0
    }
}

/// Counted as long as it is there.
struct Open(Rc<Cell<u32>>);

impl Open {
    fn new(connections: &Rc<Cell<u32>>) -> Self {
        connections.set(connections.get() + 1);
        Self(connections.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// The bytes of an answer as they leave the agent.
pub(crate) type Bytes = LocalBoxStream<'static, Vec<u8>>;

fn broken(reason: &str) -> NoResponse {
    NoResponse { reason: reason.to_owned(), never_sent: false, cause: None }
}

/// The query of a stream that begins so many events earlier.
fn earlier(query: &str, events: u64) -> String {
    match query.strip_prefix("lastSequence=").and_then(|last| last.parse::<u64>().ok()) {
        Some(last) => format!("lastSequence={}", last.saturating_sub(events)),
        None => query.to_owned(),
    }
}
