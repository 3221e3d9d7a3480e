//! Input of the caller's: text, bytes, or a stream of them, handed on in pieces.

use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use js_sys::{Function, JsString, Object, Promise, Reflect, Symbol, Uint8Array};
use sandpipe_client::Result as CallResult;
use sandpipe_client::execs::{InputSource, MAX_STDIN_CHUNK_BYTES};
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::{JsFuture, spawn_local};

use crate::arguments::string;
use crate::invalid_argument::wrong;
use crate::web::value::thrown;

#[allow(clippy::cast_possible_truncation)] // It is 1 MiB.
const MAX_BYTES: u32 = MAX_STDIN_CHUNK_BYTES as u32;
/// The most UTF-16 code units whose UTF-8 is never longer.
const MAX_UNITS: u32 = MAX_BYTES / 3 - 1;

/// Input of the caller's. It stays in JS: what the module has of it is one piece.
#[derive(Debug)]
pub(crate) struct JsInput {
    /// What it is in messages.
    name: &'static str,
    /// What has come of a stream, or all there is.
    chunk: Option<Chunk>,
    /// The first code unit of a character whose second is still to come.
    half: Option<JsString>,
    stream: Option<JsStream>,
}

/// Text or bytes, up to `at` handed on.
#[derive(Clone, Debug)]
enum Chunk {
    Text(JsString, u32),
    Bytes(Uint8Array, u32),
}

impl JsInput {
    /// What an argument of this name gives.
    pub(crate) fn of(value: &JsValue, name: &str) -> CallResult<Self> {
        if let Some(input) = Self::of_bytes(value).or_else(|| Self::of_stream(value)) {
            return Ok(input);
        }
        if !value.is_string() {
            const EXPECTED: &str = "a string, a Uint8Array, a ReadableStream or an async iterable";
            return Err(wrong(name, EXPECTED, value));
        }
        string(value, name)?;
        Ok(Self { name: "input", chunk: Chunk::of(value), half: None, stream: None })
    }

    /// The input that is a `Uint8Array`.
    pub(crate) fn of_bytes(value: &JsValue) -> Option<Self> {
        let chunk = Chunk::of(value).filter(|chunk| matches!(chunk, Chunk::Bytes(..)))?;
        Some(Self { name: "input", chunk: Some(chunk), half: None, stream: None })
    }

    /// The input that a stream gives.
    pub(crate) fn of_stream(value: &JsValue) -> Option<Self> {
        let stream = JsStream::of(value)?;
        Some(Self { name: "input", chunk: None, half: None, stream: Some(stream) })
    }

    /// The same under another name in messages.
    pub(crate) fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// How many bytes it gives, where that is known: a text has to be encoded for it.
    pub(crate) fn byte_length(&self) -> Option<f64> {
        match (&self.chunk, &self.stream) {
            (Some(Chunk::Bytes(bytes, _)), None) => Some(bytes.length().into()),
            _ => None,
        }
    }

    /// The next piece of what has come, if there is any.
    fn take_piece(&mut self) -> Option<Vec<u8>> {
        match self.chunk.as_mut()? {
            Chunk::Text(text, at) if *at < text.length() => {
                let units = text.slice(*at, at.saturating_add(MAX_UNITS));
                *at += units.length();
                let text = match self.half.take() {
                    Some(half) => half.concat(&units),
                    None => units,
                };
                let end = text.length() - 1;
                let is_half = is_high(&text, end);
                let end = if is_half { end } else { end + 1 };
                self.half = is_half.then(|| text.slice(end, end + 1));
                // What is no character becomes U+FFFD.
                Some(String::from(text.slice(0, end)).into_bytes())
            }
            Chunk::Bytes(..) if self.half.is_some() => self.take_half(),
            Chunk::Bytes(bytes, at) if *at < bytes.length() => {
                let end = at.saturating_add(MAX_BYTES).min(bytes.length());
                let piece = bytes.subarray(*at, end).to_vec();
                *at = end;
                Some(piece)
            }
            _ => {
                self.chunk = None;
                None
            }
        }
    }

    /// What is left of a character that has no second half.
    fn take_half(&mut self) -> Option<Vec<u8>> {
        self.half.take().map(|half| String::from(half).into_bytes())
    }
}

impl InputSource for JsInput {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<CallResult<Option<Vec<u8>>>> {
        loop {
            if let Some(piece) = self.take_piece() {
                return Poll::Ready(Ok(Some(piece)));
            }
            let Some(stream) = &mut self.stream else {
                return Poll::Ready(Ok(self.take_half()));
            };
            let next = ready!(stream.poll_next(context));
            let value = match next {
                Ok(Some(value)) => value,
                ended => {
                    stream.is_over = true;
                    self.stream = None;
                    ended.map_err(thrown)?;
                    continue;
                }
            };
            let Some(chunk) = Chunk::of(&value) else {
                const EXPECTED: &str = "a stream of strings and Uint8Arrays";
                return Poll::Ready(Err(wrong(self.name, EXPECTED, &value)));
            };
            self.chunk = Some(chunk);
        }
    }

    fn whole(&self) -> Option<Box<dyn InputSource>> {
        if self.stream.is_some() {
            return None;
        }
        Some(Box::new(Self {
            name: self.name,
            chunk: self.chunk.clone(),
            half: self.half.clone(),
            stream: None,
        }))
    }
}

impl Chunk {
    fn of(value: &JsValue) -> Option<Self> {
        if is_bytes(value) {
            return Some(Self::Bytes(value.unchecked_ref::<Uint8Array>().clone(), 0));
        }
        value.dyn_ref::<JsString>().map(|text| Self::Text(text.clone(), 0))
    }
}

/// Whether it is a `Uint8Array`, also one of another realm.
pub(crate) fn is_bytes(value: &JsValue) -> bool {
    let tag = || Reflect::get(value, &Symbol::to_string_tag()).ok();
    value.is_object() && tag().is_some_and(|tag| tag == "Uint8Array")
}

/// Whether a code unit is the first of two.
fn is_high(text: &JsString, at: u32) -> bool {
    let unit = text.char_code_at(at);
    (f64::from(0xD800)..f64::from(0xDC00)).contains(&unit)
}

/// A `ReadableStream` or an async iterable. It is opened when it is first read.
#[derive(Debug)]
struct JsStream {
    value: Object,
    open: Function,
    /// The names of the functions that read and that cancel.
    methods: (&'static str, &'static str),
    iterator: Option<JsValue>,
    reading: Option<JsFuture>,
    /// It has ended by itself.
    is_over: bool,
}

impl JsStream {
    fn of(value: &JsValue) -> Option<Self> {
        if !value.is_object() {
            return None;
        }
        let function = |key: &JsValue| Reflect::get(value, key).ok()?.dyn_into::<Function>().ok();
        let reader = function(&"getReader".into()).map(|open| (open, ("read", "cancel")));
        // That of a `ReadableStream` would not be left before it had given what it was asked for.
        let iterator =
            || function(&Symbol::async_iterator()).map(|open| (open, ("next", "return")));
        let (open, methods) = reader.or_else(iterator)?;
        // An error of a stream of Node.js that nobody listens for would end the process. Whoever reads the stream gets it later, so
        // the listener is any function without effects.
        if let Some((on, listener)) = function(&"on".into()).zip(function(&"listenerCount".into()))
        {
            let _listening = on.call2(value, &"error".into(), &listener);
        }
        let value = value.unchecked_ref::<Object>().clone();
        Some(Self { value, open, methods, iterator: None, reading: None, is_over: false })
    }

    /// What it gives next; None at the end.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<JsValue>, JsValue>> {
        let reading = match &mut self.reading {
            Some(reading) => reading,
            none => {
                let iterator = match &mut self.iterator {
                    Some(iterator) => iterator,
                    none => none.insert(self.open.call0(&self.value)?),
                };
                let next = call(iterator, self.methods.0)?;
                none.insert(JsFuture::from(Promise::resolve(&next)))
            }
        };
        let read = ready!(reading.poll_unpin(context));
        self.reading = None;
        let read = read?;
        if Reflect::get(&read, &"done".into())?.is_truthy() {
            return Poll::Ready(Ok(None));
        }
        Poll::Ready(Reflect::get(&read, &"value".into()).map(Some))
    }
}

impl Drop for JsStream {
    fn drop(&mut self) {
        let Some(iterator) = self.iterator.take().filter(|_| !self.is_over) else {
            return;
        };
        if let Ok(left) = call(&iterator, self.methods.1) {
            // Nobody is there to be told of an error.
            spawn_local(async move { drop(JsFuture::from(Promise::resolve(&left)).await) });
        }
    }
}

/// Calls a method without arguments; nothing happens where there is none.
fn call(object: &JsValue, method: &str) -> Result<JsValue, JsValue> {
    match Reflect::get(object, &method.into())?.dyn_into::<Function>() {
        Ok(method) => method.call0(object),
        Err(_) => Ok(JsValue::UNDEFINED),
    }
}
