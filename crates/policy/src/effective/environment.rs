use super::{Effective, Preset};
use crate::env::{NamePattern, is_withheld};

/// What becomes of a variable of the agent's environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// Commands get it.
    Passed,
    /// They don't: no name in `env.pass` is its.
    NotNamed,
    /// They don't: it looks like a secret, or leads to another program, and `env.pass` does not have its very name.
    Withheld,
}

impl Effective {
    /// Says what becomes of a variable.
    #[must_use]
    pub fn passing(&self, name: &[u8], value: &[u8]) -> Passing {
        if !self.pass.iter().any(|pattern| pattern.matches(name)) {
            Passing::NotNamed
        } else if self.withholds_secrets() && is_withheld(name, value) && !self.passes_by_name(name)
        {
            Passing::Withheld
        } else {
            Passing::Passed
        }
    }

    /// Returns whether `env.pass` has the very name of a variable.
    #[must_use]
    pub fn passes_by_name(&self, name: &[u8]) -> bool {
        self.pass.iter().any(|pattern| pattern.exact().map(str::as_bytes) == Some(name))
    }

    /// Whether it names no variable that `outer` does not pass: true only if this is certain. A value that looks like a secret is not known
    /// here: what a narrower policy passes is taken from what the other one does.
    pub(super) fn passes_within(&self, outer: &Self) -> bool {
        let is_within = |pattern: &NamePattern| {
            outer.pass.iter().any(|outer| outer.covers(pattern))
                && match pattern.exact() {
                    Some(name) => outer.passing(name.as_bytes(), b"") == Passing::Passed,
                    None => self.withholds_secrets() || !outer.withholds_secrets(),
                }
        };
        self.pass.iter().all(is_within)
    }

    fn withholds_secrets(&self) -> bool {
        self.presets.contains(&Preset::Secrets)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{document::parse, effective::effective};

    fn of(text: &str) -> Effective {
        effective(&parse(text).unwrap()).unwrap()
    }

    #[test]
    fn what_looks_like_a_secret_is_passed_where_it_is_named() {
        let all = of("{}");
        assert_eq!(all.passing(b"LANG", b"x"), Passing::Passed);
        assert_eq!(all.passing(b"GITHUB_TOKEN", b"x"), Passing::Withheld);
        assert_eq!(all.passing(b"LANG", b"https://me:secret@a.example"), Passing::Withheld);
        assert_eq!(all.passing(b"TMUX", b"x"), Passing::Withheld);
        let named = of(r#"{ "env": { "pass": ["LANG", "AWS_*", "GITHUB_TOKEN"] } }"#);
        assert_eq!(named.passing(b"GITHUB_TOKEN", b"x"), Passing::Passed);
        assert_eq!(named.passing(b"LANG", b"https://me:secret@a.example"), Passing::Passed);
        assert_eq!(named.passing(b"AWS_REGION", b"x"), Passing::Passed);
        assert_eq!(named.passing(b"AWS_SECRET_ACCESS_KEY", b"x"), Passing::Withheld);
        assert_eq!(named.passing(b"HOME", b"x"), Passing::NotNamed);
        for open in [r#"{ "extends": ["open"] }"#, r#"{ "extends": ["workspace", "!secrets"] }"#] {
            assert_eq!(of(open).passing(b"GITHUB_TOKEN", b"x"), Passing::Passed, "{open}");
        }
    }

    fn policy() -> impl Strategy<Value = Effective> {
        let pattern = prop::sample::select(vec!["*", "A_*", "*_KEY", "A_KEY", "A_B", "B_KEY", "B"]);
        let extends = prop::sample::select(vec!["workspace", "open", "strict", "system"]);
        let pass = prop::option::of(prop::collection::vec(pattern, 0..4));
        (extends, pass).prop_map(|(extends, pass)| {
            let mut policy = of(&format!(r#"{{ "extends": ["{extends}"] }}"#));
            if let Some(pass) = pass {
                policy.pass = pass.iter().map(|name| name.parse().unwrap()).collect();
            }
            policy
        })
    }

    proptest! {
        #[test]
        fn within_another_nothing_is_passed_that_it_does_not_pass(inner in policy(), outer in policy()) {
            if inner.passes_within(&outer) {
                for name in ["A_KEY", "A_B", "B_KEY", "B", "C", "C_KEY"] {
                    let is_passed = |policy: &Effective| policy.passing(name.as_bytes(), b"") == Passing::Passed;
                    prop_assert!(!is_passed(&inner) || is_passed(&outer), "{name}");
                }
            }
        }
    }
}
