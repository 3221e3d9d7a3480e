use std::path::PathBuf;

use landlock::{
    AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    Scope, path_beneath_rules,
};

use crate::machine::restricts_named_pipes;

/// Keeps this thread, and all that it starts from now on, from two ways out that no mount closes, as far as the kernel can.
///
/// **Abstract sockets** that others listen on (Linux 6.12) have no file that could be hidden, and belong to the network. Where the kernel can't,
/// commands have those of the machine if they have its network.
///
/// **Named pipes** outside of `writable` (Linux 5.19), from which programs outside may take commands: a mount that may only be read refuses to
/// open files for writing, but not these. With no such place they are all left open.
///
/// # Errors
///
/// The kernel can, and refuses to.
pub fn keep_from_sockets_and_pipes(writable: &[PathBuf]) -> Result<(), RulesetError> {
    let write = AccessFs::WriteFile;
    // With a rule for files, and none for this, no file could be moved to another directory: in each set of rules, so there is one.
    let move_files = AccessFs::Refer;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .scope(Scope::AbstractUnixSocket)?;
    if writable.is_empty() || !restricts_named_pipes() {
        rules.create()?.restrict_self()?;
        return Ok(());
    }
    rules = rules.handle_access(write | move_files)?;
    let rules = rules.create()?.add_rules(path_beneath_rules(["/"], move_files))?;
    rules.add_rules(path_beneath_rules(writable, write))?.restrict_self()?;
    Ok(())
}
