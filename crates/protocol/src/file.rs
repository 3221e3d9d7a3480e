use serde::{Deserialize, Serialize};

use crate::json::{FromJson, Problem, ToJson, Value, json_object};

/// A file, a directory, or something else that has a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileInfo {
    /// The last part of its path. What is not UTF-8 in it is U+FFFD, and `raw` has the bytes.
    pub name: String,
    /// Its absolute path, as it was asked for: symbolic links in it are not followed. What is not UTF-8 in it is U+FFFD.
    pub path: String,
    /// Whether it is a directory, or a symbolic link that leads to one.
    pub is_dir: bool,
    /// Its size in bytes; of a symbolic link, that of what it leads to.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub size: u64,
    /// When its content was last changed: RFC 3339, UTC.
    pub mod_time: String,
    /// What the name itself is. Left out by an agent that does not tell.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub kind: Option<FileType>,
    /// Its permission bits, such as 0o644. Left out by an agent that does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub mode: Option<u32>,
    /// The text of a symbolic link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub link_target: Option<String>,
    /// Its path with each byte that is not a letter, a digit or one of `-._~/` percent-encoded (RFC 3986), where it is not
    /// UTF-8. It is taken in place of a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub raw: Option<String>,
}

/// What a name in a directory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FileType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A device, of characters or of blocks.
    Device,
}

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileReadResponse {
    /// The file's path.
    pub path: String,
    /// All of it, as `encoding` says.
    pub content: String,
    /// What `content` is.
    pub encoding: FileEncoding,
}

/// How a file's content is written as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FileEncoding {
    /// As it is: all of it is UTF-8.
    #[serde(rename = "utf-8")]
    Utf8,
    /// In base64 (RFC 4648, section 4).
    #[serde(rename = "base64")]
    Base64,
}

/// What is to be done with a file or directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileActionRequest {
    /// What it is.
    pub action: FileAction,
    /// The path that it is moved or copied to.
    pub destination: String,
    /// Whether a directory may be copied, with all that is in it. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub recursive: Option<bool>,
}

/// What can be done with a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum FileAction {
    /// It has another path afterwards.
    Move,
    /// Another one like it is made.
    Copy,
}

/// The answer to a move or a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileActionResponse {
    /// What was done.
    pub message: String,
    /// The path of what was moved or copied.
    pub from: String,
    /// Where it is now.
    pub to: String,
}

/// The answer to what has made or removed something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileOperationResponse {
    /// What was done.
    pub message: String,
    /// The path that it was done to.
    pub path: String,
}

/// What is in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DirectoryListResponse {
    /// The directory's path.
    pub path: String,
    /// Its entries, by name.
    pub files: Vec<FileInfo>,
}

/// How much of an upload there is: the answer to a piece that is not the last, and part of the error of one that does not
/// follow (extension `files-raw`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UploadProgress {
    /// The length so far, in bytes.
    pub offset: u64,
}

json_object!(FromJson + ToJson for FileInfo {
    name: "name",
    path: "path",
    is_dir: "isDir",
    size: "size",
    mod_time: "modTime",
    kind: "type",
    mode: "mode",
    link_target: "linkTarget",
    raw: "raw",
});

json_object!(FromJson for FileReadResponse { path: "path", content: "content", encoding: "encoding" });

json_object!(ToJson for FileActionRequest {
    action: "action",
    destination: "destination",
    recursive: "recursive",
});

json_object!(FromJson for DirectoryListResponse { path: "path", files: "files" });

json_object!(FromJson for UploadProgress { offset: "offset" });

impl FileType {
    fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
            Self::Device => "device",
        }
    }
}

impl FromJson for FileType {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        let name = String::from_json(value)?;
        let all =
            [Self::File, Self::Directory, Self::Symlink, Self::Fifo, Self::Socket, Self::Device];
        let known = all.into_iter().find(|known| known.name() == name);
        known.ok_or_else(|| Problem::unknown("type", &name))
    }
}

impl ToJson for FileType {
    fn write(&self, json: &mut Vec<u8>) {
        self.name().write(json);
    }
}

impl FromJson for FileEncoding {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        let name = String::from_json(value)?;
        match name.as_str() {
            "utf-8" => Ok(Self::Utf8),
            "base64" => Ok(Self::Base64),
            _ => Err(Problem::unknown("encoding", &name)),
        }
    }
}

impl ToJson for FileAction {
    fn write(&self, json: &mut Vec<u8>) {
        let name = match self {
            Self::Move => "move",
            Self::Copy => "copy",
        };
        name.write(json);
    }
}
