use serde::{Deserialize, Serialize};

use crate::json::{FromJson, Problem, ToJson, Value, json_object};

/// A command and what has become of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExecItem {
    /// The exec's unique identifier.
    pub id: String,
    /// The program. Of a name that is longer than any path, only the beginning is shown.
    pub command: String,
    /// The program's arguments. Of very many or very long ones only the first are shown, 128 KiB at
    /// most, and then one element that says how many are left out: `[3 more arguments, 700000 bytes]`.
    /// That element can't be told from an argument with the same text: this list is for showing what
    /// runs, not for running it again.
    pub args: Vec<String>,
    /// How far it has come. Another agent may have other words for it.
    #[cfg_attr(
        feature = "typescript",
        tsify(
            type = "\"CREATED\" | \"RUNNING\" | \"STOPPING\" | \"EXITED\" | \"STOPPED\" | (string & {})"
        )
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub status: ExecStatus,
    /// The process id; 0 while there has been no process.
    pub pid: u32,
    /// Whether it runs in a pseudo-terminal.
    pub pty: bool,
    /// The process's exit code, 128 + N after death by signal N; -1 until there is one.
    pub exit_code: i32,
    /// The user and group that it runs as, `uid[:gid]`; left out where none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub user: Option<String>,
    /// When it was created, like the timestamps of its output: RFC 3339, UTC. Left out by an agent that
    /// does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub created_at: Option<String>,
    /// When its process was started; left out while it has not been, and where it could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub started_at: Option<String>,
    /// When it ended; left out while it has not, and where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub ended_at: Option<String>,
    /// The working directory that it was given, absolute. Left out by an agent that does not tell, and in a list that shows the
    /// command line short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub cwd: Option<String>,
    /// The policy that it runs under: the name of a preset, or `custom`. Left out by an agent that does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub policy: Option<String>,
    /// What stopped it, or began to: `client`, a request; `agent`, the agent's end; or a limit of its policy, by the limit's name. Left out
    /// where it ended by itself or nobody knows, and by an agent that does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "typescript",
        tsify(
            optional,
            type = "\"client\" | \"agent\" | \"wallTime\" | \"output\" | \"cpuTime\" | \"fileSize\" | \"memory\" | (string & {})"
        )
    )]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub stop_reason: Option<String>,
    /// Why the agent could not write some of its output to disk, as where that is full; left out
    /// where it could, and by an agent that does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub output_error: Option<String>,
    /// Whether `command`, `args` and `cwd` are shown short, as a list shows long ones: the exec by itself has
    /// them whole. Left out where they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub args_truncated: Option<bool>,
}

/// How far an exec has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ExecStatus {
    /// Not started yet.
    Created,
    /// Its process runs.
    Running,
    /// It has been told to stop and has not ended yet.
    Stopping,
    /// It ended by itself.
    Exited,
    /// It was stopped.
    Stopped,
    /// A status that only another agent knows.
    #[serde(untagged)]
    Other(String),
}

/// All execs, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExecListResponse {
    /// The execs.
    pub execs: Vec<ExecItem>,
}

/// What has changed since the list, or the changes, before (extension `list-changes`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExecListChanges {
    /// The execs that are new, or not as they were, newest first. New ones are newer than all before.
    pub changed: Vec<ExecItem>,
    /// The ids of those that are not there any more.
    pub removed: Vec<String>,
}

/// The answer to a delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExecDeleteResponse {
    /// What was done.
    pub message: String,
}

/// The body of a start. It has no fields yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ExecStart {}

json_object!(FromJson + ToJson for ExecItem {
    id: "id",
    command: "command",
    args: "args",
    status: "status",
    pid: "pid",
    pty: "pty",
    exit_code: "exitCode",
    user: "user",
    created_at: "createdAt",
    started_at: "startedAt",
    ended_at: "endedAt",
    cwd: "cwd",
    policy: "policy",
    stop_reason: "stopReason",
    output_error: "outputError",
    args_truncated: "argsTruncated",
});

json_object!(FromJson + ToJson for ExecListResponse { execs: "execs" });

json_object!(FromJson + ToJson for ExecListChanges { changed: "changed", removed: "removed" });

json_object!(ToJson for ExecStart {});

impl FromJson for ExecStatus {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        let status = String::from_json(value)?;
        Ok(match status.as_str() {
            "CREATED" => Self::Created,
            "RUNNING" => Self::Running,
            "STOPPING" => Self::Stopping,
            "EXITED" => Self::Exited,
            "STOPPED" => Self::Stopped,
            _ => Self::Other(status),
        })
    }
}

impl ToJson for ExecStatus {
    fn write(&self, json: &mut Vec<u8>) {
        let status = match self {
            Self::Created => "CREATED",
            Self::Running => "RUNNING",
            Self::Stopping => "STOPPING",
            Self::Exited => "EXITED",
            Self::Stopped => "STOPPED",
            Self::Other(status) => status,
        };
        status.write(json);
    }
}
