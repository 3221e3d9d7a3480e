//! Settings in a workspace that other programs execute.

use std::path::{Path, PathBuf};

use super::{
    Access, FileRule, IfMissing, InvalidPlaces, Origin, Roots, invalid_places::MAX_MATCHES,
    pattern::Start, search::Search,
};
use crate::effective::Preset;

/// File or directory whose contents a program of the user executes, unasked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSetting {
    /// Name in the workspace.
    pub name: &'static str,
    /// The program, and what it executes.
    pub danger: &'static str,
}

/// All that are known.
pub const TOOL_SETTINGS: [ToolSetting; 36] = [
    setting(".mcp.json", "AI agents start the servers that it names"),
    setting(".claude", "Claude Code runs the hooks and servers that it names"),
    setting(".codex", "Codex runs the hooks and servers that it names"),
    setting(".cursor", "Cursor runs the hooks and servers that it names"),
    setting(".gemini", "Gemini CLI runs the hooks and servers that it names"),
    setting(".vscode", "VS Code runs the tasks and programs that it names"),
    setting(".zed", "Zed runs the tasks and programs that it names"),
    setting(".idea", "JetBrains IDEs run the programs that it names"),
    setting(".devcontainer", "editors run commands of it on this machine"),
    setting(".devcontainer.json", "editors run commands of it on this machine"),
    setting(".envrc", "direnv runs it"),
    setting(".npmrc", "npm and pnpm run the shell that it names"),
    setting(".yarnrc", "Yarn runs the program that it names"),
    setting(".yarnrc.yml", "Yarn runs the programs that it names"),
    setting(".pnpmfile.cjs", "pnpm runs it"),
    setting("bunfig.toml", "Bun runs the scripts that it names"),
    setting(".husky", "git runs the hooks in it"),
    setting("mise.toml", "mise runs the commands that it names"),
    setting(".mise.toml", "mise runs the commands that it names"),
    setting("mise.local.toml", "mise runs the commands that it names"),
    setting(".mise", "mise runs the commands that it names"),
    setting(".hg", "Mercurial runs the hooks and extensions that it names"),
    setting(".jj", "Jujutsu runs the programs that it names"),
    setting(".windsurf", "Windsurf runs the hooks and servers that it names"),
    setting(".kiro", "Kiro runs the hooks and servers that it names"),
    setting(".roo", "Roo Code starts the servers that it names"),
    setting(".qwen", "Qwen Code runs the hooks and servers that it names"),
    setting(".amazonq", "Amazon Q starts the servers that it names"),
    setting("opencode.json", "OpenCode runs the commands and servers that it names"),
    setting(".crush.json", "Crush starts the servers that it names"),
    setting(".aider.conf.yml", "aider runs the commands that it names"),
    setting(".helix", "Helix runs the programs that it names"),
    setting(".pnpmfile.mjs", "pnpm runs it"),
    setting(".corepack.env", "Corepack downloads programs from where it names"),
    setting(".pre-commit-config.yaml", "pre-commit runs the hooks that it names"),
    setting("lefthook.yml", "Lefthook runs the hooks that it names"),
];

const fn setting(name: &'static str, danger: &'static str) -> ToolSetting {
    ToolSetting { name, danger }
}

/// Number of directories below the workspace in which projects have settings of their own, as they
/// have repositories.
const DEPTH: usize = 3;

/// Directories of packages: nobody uses the settings in them, and installers replace them as a
/// whole.
const OF_PACKAGES: [&str; 5] = ["node_modules", "vendor", "target", ".venv", ".git"];

/// Returns whether a rule protects tool settings.
pub(super) fn is_tool_setting(rule: &FileRule) -> bool {
    rule.origin == Origin::Preset(Preset::ToolSettings)
}

/// Finds the settings of projects in the workspace, and in other directories that the policy itself
/// lets commands write. One walk finds all: a pattern for each name would read each directory as
/// often.
pub(super) fn nested_tool_settings(
    rules: &[FileRule],
    roots: &Roots,
) -> Result<Vec<(FileRule, PathBuf)>, InvalidPlaces> {
    let Some(rule) = rules.iter().find(|rule| is_tool_setting(rule)) else {
        return Ok(Vec::new());
    };
    let no_home = PathBuf::new();
    let home = roots.homes.first().unwrap_or(&no_home);
    let elsewhere = rules.iter().filter(|rule| {
        rule.origin == Origin::Policy
            && rule.access == Access::Write
            && rule.path.start != (Start::Workspace { above: 0 })
    });
    let elsewhere = elsewhere.filter_map(|rule| {
        let (base, wild) = rule.path.base(&roots.workspace, home);
        wild.is_empty().then_some(base)
    });
    let mut search = Search::new(rule);
    for directory in std::iter::once(roots.workspace.clone()).chain(elsewhere) {
        walk(&mut search, &directory, DEPTH).map_err(|error| match error {
            InvalidPlaces::TooMany(_) => InvalidPlaces::TooManyToolSettings(
                search.matches.last().cloned().unwrap_or(directory.clone()),
            ),
            error => error,
        })?;
    }
    let found = search.matches.into_iter().map(|path| (rule.at(&path, IfMissing::Skip), path));
    Ok(found.collect())
}

fn walk(search: &mut Search<'_>, directory: &Path, depth: usize) -> Result<(), InvalidPlaces> {
    let paths = TOOL_SETTINGS.iter().map(|setting| directory.join(setting.name));
    search.matches.extend(paths.filter(|path| path.symlink_metadata().is_ok()));
    search.check(search.matches.len() > MAX_MATCHES)?;
    // A directory of data may have very many files: the deepest ones are not read.
    if depth == 0 {
        return Ok(());
    }
    for (name, file_type) in search.read(directory)? {
        let is_other = TOOL_SETTINGS.iter().all(|setting| name != setting.name);
        if is_other && file_type.is_dir() && OF_PACKAGES.iter().all(|known| name != *known) {
            walk(search, &directory.join(name), depth - 1)?;
        }
    }
    Ok(())
}
