use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope};

/// Keeps this thread, and all that it starts from now on, from abstract sockets that others listen on: they have no file that could be
/// hidden, and belong to the network. False where the kernel can't (before Linux 6.12): with a network of their own, commands have abstract
/// sockets of their own in any case; with the machine's they then have its too.
///
/// # Errors
///
/// The kernel can, and refuses to.
pub fn keep_from_abstract_sockets() -> Result<bool, RulesetError> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let scoped = ruleset.scope(Scope::AbstractUnixSocket)?;
    let status = scoped.create()?.restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}
