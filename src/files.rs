//! Files and directories on the agent's machine.

// Doc comments of what is exported come out in TypeScript: they are marked up as TSDoc.
#![allow(clippy::doc_markdown)]

use js_sys::{Object, Promise};
use sandpipe_client::files::{
    FileReader, FileWatcher, copy, exists, list, mkdir, move_file, read_bytes, read_text, remove,
    stat, write,
};
use sandpipe_client::{Agent, HostOutput, Result};
use wasm_bindgen::prelude::*;

use crate::batches::Batches;
use crate::errors::or_throw;
use crate::file_options::{
    destination, listed, part, recursive, target, watched, whole, write_arguments,
};
use crate::promise::{nothing, promise_of};
use crate::results::json;
use crate::sandbox::Sandbox;
use crate::web::value::{js_output, thrown};

/// The files of a sandbox. A path is absolute, or relative to the agent's workspace; any {@link FileInfo} stands for its own
/// path. All is done with the rights of the agent's default user, or of `options.user`, and of its policy.
///
/// Each call says what it throws; all throw {@link HttpError} as well: with status 404 where there is no such file, 400 where it
/// is of the wrong kind, 403 where it may not be read or written, 409 where something else is there, 507 where there is no
/// room.
#[wasm_bindgen]
#[derive(Clone)]
pub struct Files {
    agent: Agent,
}

#[wasm_bindgen]
impl Files {
    /// The files of this sandbox.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(sandbox: &Sandbox) -> Self {
        Self { agent: sandbox.agent.clone() }
    }

    /// Reads a file as text. A byte order mark is part of it.
    ///
    /// @throws {NotTextError} It is not UTF-8, or longer than a string can be (512 MiB).
    /// @throws {FileChangedError} It was changed while it was read.
    #[wasm_bindgen(unchecked_return_type = "Promise<string>")]
    pub fn read(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "ReadFileOptions")] options: &Object,
    ) -> Promise {
        let read =
            whole(path, options).map(|(target, signal)| read_text(&self.agent, target, signal));
        promise_of(read, content)
    }

    /// Reads a file, byte for byte.
    ///
    /// @throws {FileChangedError} It was changed while it was read.
    #[wasm_bindgen(unchecked_return_type = "Promise<Uint8Array>")]
    pub fn bytes(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "ReadFileOptions")] options: &Object,
    ) -> Promise {
        let read =
            whole(path, options).map(|(target, signal)| read_bytes(&self.agent, target, signal));
        promise_of(read, content)
    }

    /// Writes a file, whole or not at all: what is there stays as it is up to the moment at which the new file takes its place,
    /// with the mode and the owner that it had. Missing directories above it are made. A symbolic link is followed.
    ///
    /// A stream is read no faster than the agent takes it, 5 MiB ahead at most, and cancelled where the call fails. Where a
    /// connection breaks, what may not have arrived is sent again; that does no harm, for it takes the same place.
    ///
    /// @throws {OutcomeUnknownError} With `append` or `create: "new"`: no answer came, and it may have been done.
    /// @throws {UnsupportedError} An option, or a file of more than 16 MiB, needs the extension `files-raw`, which the agent
    /// lacks.
    /// @throws What the stream or `onProgress` does, or `InterruptedError`: nothing is left of it.
    #[wasm_bindgen(unchecked_return_type = "Promise<FileInfo>")]
    pub fn write(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "FileData")] data: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "WriteFileOptions")] options: &Object,
    ) -> Promise {
        let written = write_arguments(path, data, options)
            .map(|(target, arguments)| write(&self.agent, target, arguments));
        promise_of(written, json)
    }

    /// What is in a directory, by name. Symbolic links are not followed.
    ///
    /// @throws {UnsupportedError} `depth` needs the extension `files-raw`, which the agent lacks.
    #[wasm_bindgen(unchecked_return_type = "Promise<FileInfo[]>")]
    pub fn list(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "ListFilesOptions")] options: &Object,
    ) -> Promise {
        let listing =
            listed(path, options).map(|(target, options)| list(&self.agent, &target, options));
        promise_of(listing, json)
    }

    /// What there is to know of a file, a directory or something else.
    #[wasm_bindgen(unchecked_return_type = "Promise<FileInfo>")]
    pub fn stat(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "FileOptions")] options: &Object,
    ) -> Promise {
        let info = target(path, "path", options).map(|target| stat(&self.agent, &target));
        promise_of(info, json)
    }

    /// Whether there is a file, a directory or something else of that name.
    #[wasm_bindgen(unchecked_return_type = "Promise<boolean>")]
    pub fn exists(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "FileOptions")] options: &Object,
    ) -> Promise {
        let exists = target(path, "path", options).map(|target| exists(&self.agent, &target));
        promise_of(exists, |exists| Ok(exists.into()))
    }

    /// Makes a directory, with those above it. One that is there already is left as it is.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn mkdir(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "FileOptions")] options: &Object,
    ) -> Promise {
        let made = target(path, "path", options).map(|target| mkdir(&self.agent, &target));
        promise_of(made, nothing)
    }

    /// Removes a file, a symbolic link (not what it leads to), or an empty directory.
    ///
    /// @throws {HttpError} With status 409: the directory is not empty.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn remove(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RecursiveFileOptions")] options: &Object,
    ) -> Promise {
        let removed = recursive(path, "path", options)
            .map(|(target, is_recursive)| remove(&self.agent, &target, is_recursive));
        promise_of(removed, nothing)
    }

    /// Gives a file or a directory another path. A file that is there is replaced. Missing directories above it are made.
    ///
    /// @throws {OutcomeUnknownError} No answer came, and what is there does not tell whether it was done.
    #[wasm_bindgen(js_name = move, unchecked_return_type = "Promise<void>")]
    pub fn move_file(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] from: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] to: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "FileOptions")] options: &Object,
    ) -> Promise {
        let moved = target(from, "from", options).and_then(|from| {
            let (to, text) = destination(to, "to")?;
            Ok(move_file(&self.agent, &from, to, text))
        });
        promise_of(moved, nothing)
    }

    /// Copies a file. One that is there is replaced; a directory, with `recursive`, is copied to where nothing is. Missing
    /// directories above it are made.
    ///
    /// @throws {OutcomeUnknownError} No answer came, and a directory is there that may be the copy, or a part of it.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn copy(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] from: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] to: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RecursiveFileOptions")] options: &Object,
    ) -> Promise {
        let copied = recursive(from, "from", options).and_then(|(from, is_recursive)| {
            let (_, to) = destination(to, "to")?;
            Ok(copy(&self.agent, &from, to, is_recursive))
        });
        promise_of(copied, nothing)
    }
}

#[allow(clippy::needless_pass_by_value)] // A call gives values.
fn content(content: HostOutput) -> Result<JsValue> {
    js_output(&content).map_err(thrown)
}

// js/files.ts makes of this what users get.
#[wasm_bindgen]
impl Sandbox {
    /// The bytes of a part of a file, chunk by chunk.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(js_name = readFile, unchecked_return_type = "Batches<Uint8Array>")]
    pub fn read_file(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "ReadStreamOptions")] options: &Object,
    ) -> std::result::Result<Batches, JsValue> {
        let (target, part) = or_throw(part(path, options))?;
        Ok(Batches::of_file(FileReader::new(self.agent.child(), target, part)))
    }

    /// Changes in a directory. The first batch alone is empty: all watches are set.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(js_name = watchFiles, unchecked_return_type = "Batches<FileChange>")]
    pub fn watch_files(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "WatchFilesOptions")] options: &Object,
    ) -> std::result::Result<Batches, JsValue> {
        let (target, options) = or_throw(watched(path, options))?;
        Ok(Batches::of_changes(FileWatcher::new(self.agent.child(), target, options)))
    }
}
