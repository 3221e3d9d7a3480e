use std::path::PathBuf;

/// What the paths of a policy begin at.
#[derive(Clone, Debug)]
pub struct Roots {
    /// The workspace, without symbolic links.
    pub workspace: PathBuf,
    /// What `~` is, without symbolic links; behind it other homes of the same user, whose secrets are hidden too, as the one of
    /// the user database where `HOME` is another.
    pub homes: Vec<PathBuf>,
    /// The homes of other users whom commands may be run as: what is hidden in `~` is hidden there, too.
    pub homes_of_others: Vec<PathBuf>,
    /// The agent's own files, and what else is out of reach under every policy.
    pub protected: Vec<PathBuf>,
    /// Files with secrets that the agent's environment names: they are hidden where those in the home are.
    pub secrets: Vec<PathBuf>,
    /// The file with the policy, which commands may not write under any: the next box may be built by it.
    pub policy_file: Option<PathBuf>,
    /// The workspace's own stores of packages, which may be written where caches may.
    pub stores: Option<PathBuf>,
    /// The user's store of pnpm, without symbolic links. Commands that could only read it have a
    /// private one in its place: pnpm does not change from one store to another.
    pub pnpm_store: Option<PathBuf>,
}
