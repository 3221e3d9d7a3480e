//! Reading a whole file.

use sandpipe_text::Text;

use super::{FileReader, Part, Target};
use crate::execs::Utf8Pieces;
use crate::output::Encoding;
use crate::{AbortSignal, Agent, Call, Error, HostOutput};

/// How much is handed to the host at once, in bytes.
const CHUNK_BYTES: usize = 512 * 1024;

/// All bytes of a file.
pub fn read_bytes(agent: &Agent, target: Target, signal: Option<AbortSignal>) -> Call<HostOutput> {
    let host = agent.http.host().clone();
    let mut reader = FileReader::new(agent.clone(), target, Part::default());
    let reading = async move {
        let mut whole = HostOutput::empty(Encoding::Bytes);
        let mut unsent = Vec::new();
        loop {
            let has_more = reader
                .read_into(&mut |bytes| {
                    unsent.extend_from_slice(bytes);
                    Ok(())
                })
                .await?;
            if unsent.len() >= CHUNK_BYTES || !has_more && !unsent.is_empty() {
                whole = host.append_bytes(&whole, &unsent).map_err(Error::thrown)?;
                unsent.clear();
            }
            if !has_more {
                return Ok(whole);
            }
        }
    };
    AbortSignal::ending(signal, Box::pin(reading))
}

/// The text of a file, a byte order mark included.
///
/// # Errors
/// [`Error::NotText`] where it is not UTF-8, or longer than the host's texts can be.
pub fn read_text(agent: &Agent, target: Target, signal: Option<AbortSignal>) -> Call<HostOutput> {
    let host = agent.http.host().clone();
    let mut reader = FileReader::new(agent.clone(), target.clone(), Part::default());
    let reading = async move {
        let not_text = |problem| Error::NotText { path: target.display(), problem };
        let mut whole = HostOutput::empty(Encoding::Utf8);
        let mut utf8 = Utf8Pieces::default();
        let mut unsent = Text::default();
        loop {
            let has_more = reader
                .read_into(&mut |bytes| {
                    let text = utf8.decode(bytes.to_vec()).ok_or_else(|| not_text("not UTF-8"))?;
                    unsent.push_utf8(text.as_bytes());
                    Ok(())
                })
                .await?;
            if unsent.utf8_length() >= CHUNK_BYTES || !has_more && !unsent.is_empty() {
                let length = u64::from(whole.length()) + unsent.length() as u64;
                if length > host.max_text_length().into() {
                    return Err(not_text("longer than a string can be").into());
                }
                whole = host.append_text(&whole, unsent.units()).map_err(Error::thrown)?;
                unsent.clear();
            }
            if !has_more {
                return if utf8.is_whole() { Ok(whole) } else { Err(not_text("not UTF-8").into()) };
            }
        }
    };
    AbortSignal::ending(signal, Box::pin(reading) as Call<_>)
}
