//! What the calls of files take, read from the values of JS.

use js_sys::{Function, Object, Reflect};
use sandpipe_client::files::{
    Create, FilePath, ListOptions, MAX_DEPTH, Part, ProgressListener, Target, WatchOptions,
    WriteArguments,
};
use sandpipe_client::{AbortSignal, Result};
use wasm_bindgen::{JsCast, prelude::*};

use crate::arguments::{
    abort_signal, boolean, bytes, command_arguments, function, positive, shell_text, string,
};
use crate::fields::{Options, options};
use crate::input::JsInput;
use crate::invalid_argument::{invalid, wrong};
use crate::web::value::thrown;

/// A path: text, or an object that has it, such as a `FileInfo`.
pub(crate) fn file_path(value: &JsValue, name: &str) -> Result<FilePath> {
    const EXPECTED: &str =
        "a path without NUL: a string, or { raw } with one that is percent-encoded";
    let field = |key: &str| {
        let value = value.is_object().then(|| Reflect::get(value, &key.into()).ok());
        value.flatten().filter(|value| !value.is_undefined())
    };
    let path = if let Some(raw) = field("raw") {
        FilePath::parse_raw(&string(&raw, &format!("{name}.raw"))?)
    } else if let Some(path) = field("path") {
        FilePath::parse(&string(&path, &format!("{name}.path"))?)
    } else {
        FilePath::parse(&string(value, name)?)
    };
    path.ok_or_else(|| wrong(name, EXPECTED, value))
}

/// A path that is sent as text.
pub(crate) fn destination(value: &JsValue, name: &str) -> Result<(FilePath, String)> {
    let path = file_path(value, name)?;
    match path.as_str().map(str::to_owned) {
        Some(text) => Ok((path, text)),
        None => Err(invalid(name, "a path in UTF-8", "one that is not")),
    }
}

options! {
    /// Whose rights files are touched with.
    interface "FileOptions"
    struct FileOptions {
        /// The user to do it as: `user[:group]`, names or numeric ids; what is made is that user's. Default: the agent's.
        "user" "?: string" => user: Option<String> = optional shell_text,
    }
}

impl FileOptions {
    fn target(self, path: FilePath) -> Target {
        Target { path, user: self.user }
    }
}

/// Reads a path and whose rights it is touched with.
pub(crate) fn target(path: &JsValue, name: &str, options: &JsValue) -> Result<Target> {
    Ok(FileOptions::read(options)?.target(file_path(path, name)?))
}

options! {
    /// Whether what is in a directory is meant as well.
    interface "RecursiveFileOptions extends FileOptions"
    struct RecursiveFileOptions {
        ..file: FileOptions,
        /// Also a directory with all that is in it. Default: false.
        "recursive" "?: boolean" => recursive: bool = optional boolean or false,
    }
}

/// Reads a path, and whether what is in a directory is meant as well.
pub(crate) fn recursive(path: &JsValue, name: &str, options: &JsValue) -> Result<(Target, bool)> {
    let path = file_path(path, name)?;
    let RecursiveFileOptions { file, recursive } = Options::read(options)?;
    Ok((file.target(path), recursive))
}

options! {
    /// How to read a file.
    interface "ReadFileOptions extends FileOptions"
    struct ReadFileOptions {
        ..file: FileOptions,
        /// Aborted: the call ends, and rejects with `InterruptedError`.
        "signal" "?: AbortSignal" => signal: Option<AbortSignal> = optional abort_signal,
    }
}

/// Reads which file is wanted as a whole.
pub(crate) fn whole(path: &JsValue, options: &JsValue) -> Result<(Target, Option<AbortSignal>)> {
    let path = file_path(path, "path")?;
    let ReadFileOptions { file, signal } = Options::read(options)?;
    Ok((file.target(path), signal))
}

options! {
    /// Which part of a file to read.
    interface "ReadStreamOptions extends FileOptions"
    struct ReadStreamOptions {
        ..file: FileOptions,
        /// Where to begin, in bytes. Behind the end of the file there is nothing. Default: 0.
        "offset" "?: number" => offset: u64 = optional bytes or 0,
        /// The most to read, in bytes. Default: up to the end.
        "length" "?: number" => length: Option<u64> = optional bytes,
        /// Aborted: the stream ends with an `InterruptedError`.
        "signal" "?: AbortSignal" => _signal: Option<AbortSignal> = optional abort_signal,
    }
}

/// Reads which part of a file is wanted. js/file-stream.ts sees to the signal.
pub(crate) fn part(path: &JsValue, options: &JsValue) -> Result<(Target, Part)> {
    let path = file_path(path, "path")?;
    let ReadStreamOptions { file, offset, length, .. } = Options::read(options)?;
    Ok((file.target(path), Part { offset, length }))
}

options! {
    /// How to write a file.
    interface "WriteFileOptions extends FileOptions"
    struct WriteFileOptions {
        ..file: FileOptions,
        /// The permission bits of a new file, such as 0o755. One that is there keeps its own. Default: 0o666 less the agent's
        /// umask.
        "mode" "?: number" => mode: Option<u32> = optional mode,
        /// Writes behind what is there, and keeps that. Default: false.
        "append" "?: boolean" => append: bool = optional boolean or false,
        /// `"new"`: there must be no file of that name yet, else `HttpError` with status 412. Default: `"always"`.
        "create" r#"?: "always" | "new""# => create: Create = optional create or Create::Always,
        /// Aborted: the call ends, rejects with `InterruptedError`, and leaves nothing behind.
        "signal" "?: AbortSignal" => signal: Option<AbortSignal> = optional abort_signal,
        /// Called whenever the agent has more of it, with how many bytes that are in all, and of how many where that is
        /// known: of a Uint8Array and a Blob. What it throws ends the call.
        "onProgress" "?(progress: { bytes: number; total?: number }): void" =>
            on_progress: Option<ProgressListener> = optional progress_listener,
    }
}

/// Reads what is to be written, and where.
pub(crate) fn write_arguments(
    path: &JsValue,
    data: &JsValue,
    options: &JsValue,
) -> Result<(Target, WriteArguments)> {
    let path = file_path(path, "path")?;
    let WriteFileOptions { file, mode, append, create, signal, on_progress } =
        Options::read(options)?;
    let (data, total) = read_data(data)?;
    let data = Box::new(data.named("data"));
    let arguments =
        WriteArguments { data, total, mode, appends: append, create, signal, on_progress };
    Ok((file.target(path), arguments))
}

/// What gives the bytes, and how many they are, where that is known.
fn read_data(value: &JsValue) -> Result<(JsInput, Option<u64>)> {
    if let Some((stream, size)) = blob_stream(value)? {
        return Ok((JsInput::of(&stream, "data")?, Some(size)));
    }
    let data = JsInput::of(value, "data")?;
    // Exact: no array is so long.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let total = data.byte_length().map(|length| length as u64);
    Ok((data, total))
}

/// The stream of a `Blob`, and its size. It is known by its fields: another realm's is none of this one's class.
fn blob_stream(value: &JsValue) -> Result<Option<(JsValue, u64)>> {
    let field = |name: &str| Reflect::get(value, &name.into()).ok();
    let stream = value.is_object().then(|| field("stream")?.dyn_into::<Function>().ok()).flatten();
    let size = field("size").filter(|_| stream.is_some());
    match (stream, size) {
        (Some(stream), Some(size)) if size.as_f64().is_some() => {
            let size = bytes(&size, "data.size")?;
            Ok(Some((stream.call0(value).map_err(thrown)?, size)))
        }
        _ => Ok(None),
    }
}

fn mode(value: &JsValue, name: &str) -> Result<u32> {
    // Exact: it is a whole number of twelve bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    match value.as_f64() {
        Some(number) if js_sys::Number::is_integer(value) && (0.0..=4095.0).contains(&number) => {
            Ok(number as u32)
        }
        _ => Err(wrong(name, "permission bits from 0 to 0o7777", value)),
    }
}

fn create(value: &JsValue, name: &str) -> Result<Create> {
    match value.as_string().as_deref() {
        Some("always") => Ok(Create::Always),
        Some("new") => Ok(Create::New),
        _ => Err(wrong(name, "\"always\" or \"new\"", value)),
    }
}

fn progress_listener(value: &JsValue, name: &str) -> Result<ProgressListener> {
    let listener = function(value, name)?;
    Ok(Box::new(move |bytes, total| {
        let progress = Object::new();
        let set = |name: &str, bytes: u64| {
            // Exact up to 2^53.
            #[allow(clippy::cast_precision_loss)]
            Reflect::set(&progress, &name.into(), &(bytes as f64).into()).map_err(thrown)
        };
        set("bytes", bytes)?;
        if let Some(total) = total {
            set("total", total)?;
        }
        listener.call1(&JsValue::UNDEFINED, &progress).map_err(thrown)?;
        Ok(())
    }))
}

options! {
    /// What of a directory to watch.
    interface "WatchFilesOptions extends FileOptions"
    struct WatchFilesOptions {
        ..file: FileOptions,
        /// Also what is in the directories in it, however deep, and in those that come. Default: false.
        "recursive" "?: boolean" => recursive: bool = optional boolean or false,
        /// Globs of what is left out, of paths relative to the directory: `*` is any part of one name, `**` any names. One
        /// without `/` is for names at any depth, such as `node_modules`. Default: nothing.
        "ignore" "?: string[]" => ignore: Vec<String> = optional command_arguments or Vec::new(),
        /// Aborted: the watching ends, and the iteration throws `InterruptedError`.
        "signal" "?: AbortSignal" => _signal: Option<AbortSignal> = optional abort_signal,
    }
}

/// Reads what is to be watched. js/file-watcher.ts sees to the signal.
pub(crate) fn watched(path: &JsValue, options: &JsValue) -> Result<(Target, WatchOptions)> {
    let path = file_path(path, "path")?;
    let WatchFilesOptions { file, recursive, ignore, .. } = Options::read(options)?;
    Ok((file.target(path), WatchOptions { is_recursive: recursive, ignore }))
}

options! {
    /// How to list a directory.
    interface "ListFilesOptions extends FileOptions"
    struct ListFilesOptions {
        ..file: FileOptions,
        /// How deep to look: 1 for what is in the directory itself, 2 also for what is in the directories in it, and so on
        /// up to 64. Default: 1.
        "depth" "?: number" => depth: u32 = optional depth or 1,
        /// Aborted: the call ends, and rejects with `InterruptedError`.
        "signal" "?: AbortSignal" => signal: Option<AbortSignal> = optional abort_signal,
    }
}

/// Reads which directory is to be listed, and how.
pub(crate) fn listed(path: &JsValue, options: &JsValue) -> Result<(Target, ListOptions)> {
    let path = file_path(path, "path")?;
    let ListFilesOptions { file, depth, signal } = Options::read(options)?;
    Ok((file.target(path), ListOptions { depth, signal }))
}

fn depth(value: &JsValue, name: &str) -> Result<u32> {
    let depth = positive(value, name)?;
    if depth > MAX_DEPTH {
        return Err(wrong(name, "a whole number from 1 to 64", value));
    }
    Ok(depth)
}
