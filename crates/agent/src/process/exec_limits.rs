use std::sync::Arc;

use super::command_limits::{CommandLimits, ReachedLimit};
use crate::{
    limits::ExecGroup,
    walls::{MadeSetting, ToolSettings},
};

/// Limits of a command, and lines that are added at its end.
#[derive(Debug, Default)]
pub(crate) struct ExecLimits {
    pub(crate) of_command: CommandLimits,
    /// Where it is, if cgroups hold a limit.
    pub(crate) group: Option<ExecGroup>,
    /// Settings that it may have made.
    pub(crate) tool_settings: Option<Arc<ToolSettings>>,
}

impl ExecLimits {
    /// The limit by which a command has ended with that exit code, if it is known to be one.
    pub(crate) fn told_by(&self, exit_code: i32) -> Option<ReachedLimit> {
        let of_group = self.group.as_ref().and_then(|group| group.reached(exit_code));
        of_group.or_else(|| self.of_command.told_by(exit_code))
    }

    /// Tool settings that were made in the workspace meanwhile.
    pub(crate) fn made_settings(&self) -> Vec<MadeSetting> {
        self.tool_settings.as_ref().map(|settings| settings.made()).unwrap_or_default()
    }
}
