//! Writing a file, whole or not at all.

use std::mem;

use futures_channel::oneshot;
use futures_util::future::select;
use sandpipe_protocol::FileInfo;

use super::upload::{Upload, UploadOptions};
use super::{Target, no_bytes, stat};
use crate::execs::{InputSource, next_piece};
use crate::http::{FINISH_TIMEOUT_MS, Request, read_json};
use crate::{AbortSignal, Agent, Call, Feature, Operation, Result};

const OPERATION: Operation = Operation::WriteFile;

/// How large the first piece of an upload is at least, in bytes. What is not larger is written by one request.
const FIRST_PIECE_BYTES: usize = 1024 * 1024;
/// The same of the others. It is there three times while it is sent: gathered, on its way to the host, and in the host.
const PIECE_BYTES: usize = 4 * 1024 * 1024;

/// The most that the base interface takes, in bytes: agents bound the size of a body.
const MAX_BASE_BYTES: usize = 16 * 1024 * 1024;

/// What is called with how many bytes have been written, and of how many, where that is known.
pub type ProgressListener = Box<dyn FnMut(u64, Option<u64>) -> Result<()>>;

/// Which files are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Create {
    /// One that is there is replaced.
    #[default]
    Always,
    /// None may be there.
    New,
}

/// What to write, and how.
pub struct WriteArguments {
    /// What the file is to have.
    pub data: Box<dyn InputSource>,
    /// How many bytes that is, where it is known.
    pub total: Option<u64>,
    /// The permission bits of a new file.
    pub mode: Option<u32>,
    /// It goes behind what is there.
    pub appends: bool,
    /// Whether a file may be there.
    pub create: Create,
    /// Aborted: the call ends, and nothing of it is left.
    pub signal: Option<AbortSignal>,
    /// Told how far it has come.
    pub on_progress: Option<ProgressListener>,
}

/// Writes what a source gives: all of it, or nothing.
pub fn write(agent: &Agent, target: Target, arguments: WriteArguments) -> Call<FileInfo> {
    let agent = agent.clone();
    let WriteArguments { data, total, mode, appends, create, signal, on_progress } = arguments;
    let options = UploadOptions { mode, appends, is_new: create == Create::New };
    let mut progress = Progress { listener: on_progress, total };
    let host = agent.http.host().clone();
    let (gone, is_gone) = oneshot::channel();
    let writing = async move {
        target.check(&agent).await?;
        let mut pieces = Pieces { source: data, is_over: false };
        if !agent.offers(Feature::FilesRaw).await? {
            return write_base(&agent, &target, options, pieces, progress).await;
        }
        let first = pieces.next(FIRST_PIECE_BYTES).await?;
        // An agent that is started again forgets which uploads were completed: a request that both brings the bytes
        // and completes could append them twice, or be told of its own file that it is there already.
        let is_once = appends || create == Create::New;
        if pieces.is_over && !is_once {
            // It is the same however often it is done.
            let length = first.len() as u64;
            let request = options.request(&target, &[], first.into());
            let answer = agent.http.send(request, None).await?.unwrap_or_default();
            progress.report(length)?;
            return read_json(OPERATION, &answer);
        }
        let mut upload = Upload::new(&agent, &target, options, gone);
        let mut piece = first;
        while !pieces.is_over || is_once && !piece.is_empty() {
            upload.send(piece).await?;
            progress.report(upload.offset)?;
            piece = if pieces.is_over { Vec::new() } else { pieces.next(PIECE_BYTES).await? };
        }
        let has_more = !piece.is_empty();
        let info = upload.complete(piece).await?;
        if has_more {
            progress.report(upload.offset)?;
        }
        Ok(info)
    };
    let writing = AbortSignal::ending(signal, Box::pin(writing));
    Box::pin(async move {
        let written = writing.await;
        if written.is_err() {
            // A program that ends now leaves nothing behind at the agent.
            select(is_gone, host.sleep(f64::from(FINISH_TIMEOUT_MS))).await;
        }
        written
    })
}

/// Writes by the base interface: all of it in one request.
async fn write_base(
    agent: &Agent,
    target: &Target,
    options: UploadOptions,
    mut pieces: Pieces,
    mut progress: Progress,
) -> Result<FileInfo> {
    let UploadOptions { mode, appends, is_new } = options;
    let unsupported = [
        (appends, "`options.append`"),
        (is_new, "`options.create: \"new\"`"),
        (mode.is_some(), "`options.mode`"),
    ];
    if let Some((_, what)) = unsupported.into_iter().find(|(is_wanted, _)| *is_wanted) {
        return Err(no_bytes(what));
    }
    let whole = pieces.next(MAX_BASE_BYTES + 1).await?;
    if !pieces.is_over || whole.len() > MAX_BASE_BYTES {
        return Err(no_bytes("a file of more than 16 MiB"));
    }
    let length = whole.len() as u64;
    let request = Request::post_bytes(OPERATION, target.url("/api/v1/files", &[]), whole.into());
    // The answer repeats the content.
    agent.http.send(request, None).await?;
    progress.report(length)?;
    stat(agent, target).await
}

/// Where the bytes come from, gathered to pieces.
struct Pieces {
    source: Box<dyn InputSource>,
    /// It gives no more.
    is_over: bool,
}

impl Pieces {
    /// The next piece, of so many bytes at least, unless nothing comes behind it.
    async fn next(&mut self, bytes: usize) -> Result<Vec<u8>> {
        let mut piece = Vec::new();
        while piece.len() < bytes {
            let Some(mut more) = next_piece(&mut *self.source).await? else {
                self.is_over = true;
                break;
            };
            if piece.is_empty() {
                mem::swap(&mut piece, &mut more);
            } else {
                // Once, and not as much again each time.
                piece.reserve_exact(bytes.saturating_sub(piece.len()).max(more.len()));
                piece.append(&mut more);
            }
        }
        Ok(piece)
    }
}

struct Progress {
    listener: Option<ProgressListener>,
    total: Option<u64>,
}

impl Progress {
    fn report(&mut self, bytes: u64) -> Result<()> {
        match &mut self.listener {
            Some(listener) => listener(bytes, self.total),
            None => Ok(()),
        }
    }
}
