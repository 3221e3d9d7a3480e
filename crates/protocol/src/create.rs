use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::json::json_object;

/// What to run, and how: the body of a create.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateExecRequest {
    /// The program: a path, or a name that is looked up in `PATH`. No shell reads it.
    pub command: String,
    /// The program's arguments, handed over byte for byte. Default: none.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub args: Vec<String>,
    /// Whether it starts at once. One that waits may have some 768 KiB of arguments and environment.
    /// Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub autostart: Option<bool>,
    /// Whether stdin stays open for input. With false, the process reads end-of-file at once.
    /// An extension that other agents ignore. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub interactive: Option<bool>,
    /// Whether it runs in a pseudo-terminal, as the leader of a session of its own; stdout and
    /// stderr are then one stream. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub pty: Option<bool>,
    /// The columns of the pseudo-terminal at the start, 1 or more.
    /// An extension that other agents ignore. Default: 80.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub cols: Option<u16>,
    /// The rows of the pseudo-terminal at the start, 1 or more.
    /// An extension that other agents ignore. Default: 24.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub rows: Option<u16>,
    /// The working directory. Default: the agent's workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub cwd: Option<String>,
    /// Environment variables, added to the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "Record<string, string>"))]
    pub env: Option<BTreeMap<String, String>>,
    /// The user to run as: `user[:group]`, names or numeric ids, either side may be left out. A number that the
    /// system has no entry of needs a group.
    /// Default: the agent's `--default-user`, else the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub user: Option<String>,
    /// Whether a stop, a delete and the agent's end reach all that the command has started, wherever that went, as by `setsid`.
    /// With false, its process group alone (in a terminal, its session): what leaves that may outlive it.
    /// An extension that other agents ignore. Default: true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub contain: Option<bool>,
    /// What the command may touch: the name of a preset (`workspace`, `offline`, `strict`), or a policy, also as JSON. It gives nothing that the agent's
    /// own does not: such a one is refused with 403.
    /// An extension, `policy`. Default: the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", tsify(optional, type = "string | Policy"))]
    pub policy: Option<String>,
}

json_object!(ToJson for CreateExecRequest {
    command: "command",
    args: "args",
    autostart: "autostart",
    interactive: "interactive",
    pty: "pty",
    cols: "cols",
    rows: "rows",
    cwd: "cwd",
    env: "env",
    user: "user",
    contain: "contain",
    policy: "policy",
});
