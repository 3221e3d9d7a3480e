//! The files of a simulated agent: the paths that the client's streams go by.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use sandpipe_client::host::{FileHead, HttpRequest, RequestBody};
use sandpipe_protocol::{
    FileAction, FileActionRequest, FileActionResponse, FileEncoding, FileInfo,
    FileOperationResponse, FileReadResponse, FileType, UploadProgress,
};
use serde::Serialize;

use super::SimAgent;
use super::response::{Response, error, json, whole};
use crate::faults::Kind;

/// All files there are, by their paths, and the uploads that are under way.
#[derive(Default)]
pub(crate) struct SimFiles {
    files: RefCell<BTreeMap<String, File>>,
    uploads: RefCell<BTreeMap<String, Upload>>,
    given_up: RefCell<BTreeSet<String>>,
}

/// A file. Each content that it gets is another version.
#[derive(Clone)]
struct File {
    content: Vec<u8>,
    version: u64,
}

#[derive(Clone, Default)]
struct Upload {
    content: Vec<u8>,
    /// What its completion was answered.
    answer: Option<(u16, FileInfo)>,
}

impl SimFiles {
    /// The content of a file.
    pub(crate) fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.files.borrow().get(path).map(|file| file.content.clone())
    }

    /// Gives a file another content.
    pub(crate) fn set(&self, path: &str, content: Vec<u8>) {
        let mut files = self.files.borrow_mut();
        let version = files.get(path).map_or(1, |file| file.version + 1);
        files.insert(path.to_owned(), File { content, version });
    }

    /// Forgets all uploads, as an agent that is started again.
    pub(crate) fn forget_uploads(&self) {
        self.uploads.borrow_mut().clear();
    }

    /// The uploads that are not complete, and that nobody has given up.
    pub(crate) fn abandoned(&self) -> usize {
        let given_up = self.given_up.borrow();
        let uploads = self.uploads.borrow();
        let open = uploads.iter().filter(|(_, upload)| upload.answer.is_none());
        open.filter(|(id, _)| !given_up.contains(*id)).count()
    }

    fn info(&self, path: &str) -> Option<FileInfo> {
        let files = self.files.borrow();
        let size = files.get(path)?.content.len() as u64;
        Some(FileInfo {
            name: path.to_owned(),
            path: format!("/workspace/{path}"),
            is_dir: false,
            size,
            mod_time: "2026-01-01T00:00:00Z".to_owned(),
            kind: Some(FileType::File),
            mode: Some(0o644),
            link_target: None,
            raw: None,
        })
    }
}

impl SimAgent {
    /// Does what a request for files asks for.
    pub(super) fn handle_files(
        &self,
        kind: Kind,
        path: &str,
        query: &str,
        request: &HttpRequest,
    ) -> Response {
        let name = path.rsplit('/').next().unwrap_or_default();
        match kind {
            Kind::ReadFile => self.read_file(name, request),
            Kind::WriteFile => self.write_file(name, query, request),
            Kind::MoveFile => self.change_file(name, request),
            Kind::RemoveFile => match parameter(query, "upload") {
                Some(id) => {
                    self.files.uploads.borrow_mut().remove(id);
                    self.files.given_up.borrow_mut().insert(id.to_owned());
                    done("given up")
                }
                None => match self.files.files.borrow_mut().remove(name) {
                    Some(_) => done("removed"),
                    None => error(404, "there is no such file"),
                },
            },
            _ => match self.files.info(name) {
                Some(info) => json(200, &info),
                None => error(404, "there is no such file"),
            },
        }
    }

    fn read_file(&self, name: &str, request: &HttpRequest) -> Response {
        let Some(File { content, version }) = self.files.files.borrow().get(name).cloned() else {
            return error(404, "there is no such file");
        };
        let is_raw = request.accept == "application/octet-stream";
        if !is_raw || !self.setup.offers("files-raw") {
            let (content, encoding) = (String::from_utf8(content), FileEncoding::Utf8);
            let content = content.expect("files of the base are text here");
            return json(200, &FileReadResponse { path: name.to_owned(), content, encoding });
        }
        let etag = format!("\"{version}\"");
        let header = |name: &str| {
            let found = request.headers.iter().find(|(header, _)| *header == name);
            found.map(|(_, value)| value.as_str())
        };
        let is_same = header("if-range").is_none_or(|wanted| wanted == etag);
        let range = header("range").filter(|_| is_same).map(|range| {
            let range = range.strip_prefix("bytes=").expect("a range of bytes");
            let (first, last) = range.split_once('-').expect("one range");
            let first: usize = first.parse().expect("a first byte");
            (first, last.parse::<usize>().map_or(content.len(), |last| last + 1))
        });
        let size = content.len();
        let etag = Some(etag);
        let Some((first, end)) = range else {
            let file =
                FileHead { etag, content_range: None, content_length: Some(size.to_string()) };
            return Response { file, ..whole(200, "application/octet-stream", content) };
        };
        if first >= size {
            return error(416, "the file ends before that");
        }
        let part = content[first..end.min(size)].to_vec();
        let content_range = Some(format!("bytes {first}-{}/{size}", first + part.len() - 1));
        let content_length = Some(part.len().to_string());
        let file = FileHead { etag, content_range, content_length };
        Response { file, ..whole(206, "application/octet-stream", part) }
    }

    fn write_file(&self, name: &str, query: &str, request: &HttpRequest) -> Response {
        let Some(RequestBody::Bytes(bytes)) = &request.body else {
            panic!("a file's bytes");
        };
        let appends = parameter(query, "append") == Some("true");
        let is_new = request.headers.contains(&("if-none-match", "*".to_owned()));
        let Some(id) = parameter(query, "upload") else {
            return self.put_in_place(name, bytes, appends, is_new);
        };
        let offset: usize =
            parameter(query, "offset").expect("an offset").parse().expect("a number");
        let completes = parameter(query, "complete") == Some("true");
        let mut upload = self.files.uploads.borrow().get(id).cloned().unwrap_or_default();
        if let Some((status, info)) = &upload.answer {
            return json(*status, info);
        }
        if offset > upload.content.len() {
            return json(
                409,
                &Behind { code: 409, message: "a piece is missing", offset: upload.content.len() },
            );
        }
        upload.content.truncate(offset);
        upload.content.extend_from_slice(bytes);
        let offset = upload.content.len() as u64;
        if !completes {
            self.files.uploads.borrow_mut().insert(id.to_owned(), upload);
            return json(202, &UploadProgress { offset });
        }
        let response = self.put_in_place(name, &upload.content, appends, is_new);
        if response.status < 300 {
            upload.answer = self.files.info(name).map(|info| (response.status, info));
            upload.content.clear();
            self.files.uploads.borrow_mut().insert(id.to_owned(), upload);
        }
        response
    }

    fn put_in_place(&self, name: &str, bytes: &[u8], appends: bool, is_new: bool) -> Response {
        let before = self.files.content(name);
        if is_new && before.is_some() {
            return error(412, "it is there already");
        }
        let status = if before.is_some() { 200 } else { 201 };
        let start = before.filter(|_| appends).unwrap_or_default();
        self.files.set(name, [&start, bytes].concat());
        json(status, &self.files.info(name).expect("it is there"))
    }

    fn change_file(&self, name: &str, request: &HttpRequest) -> Response {
        let Some(RequestBody::Json(body)) = &request.body else {
            panic!("a body of JSON");
        };
        let action: FileActionRequest = serde_json::from_str(body).expect("what the path takes");
        let Some(content) = self.files.content(name) else {
            return error(404, "there is no such file");
        };
        if action.action == FileAction::Move {
            self.files.files.borrow_mut().remove(name);
        }
        self.files.set(&action.destination, content);
        let (from, to) = (name.to_owned(), action.destination);
        json(200, &FileActionResponse { message: "done".to_owned(), from, to })
    }
}

/// The body of a 409 for a piece that does not follow.
#[derive(Serialize)]
struct Behind {
    code: u16,
    message: &'static str,
    offset: usize,
}

fn done(message: &str) -> Response {
    json(200, &FileOperationResponse { message: message.to_owned(), path: String::new() })
}

fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
    parameters.find(|(key, _)| *key == name).map(|(_, value)| value)
}
