//! `*` in one name.

/// Whether `name` is what `pattern` says, in which `*` is any number of characters.
#[must_use]
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut pattern_at, mut name_at) = (0, 0);
    // Behind the last `*`, and where what it takes ends so far.
    let mut star = None;
    while name_at < name.len() {
        match pattern.get(pattern_at) {
            Some(b'*') => {
                pattern_at += 1;
                star = Some((pattern_at, name_at));
            }
            Some(byte) if name.get(name_at) == Some(byte) => {
                pattern_at += 1;
                name_at += 1;
            }
            _ => {
                let Some((behind, taken)) = star else {
                    return false;
                };
                star = Some((behind, taken + 1));
                (pattern_at, name_at) = (behind, taken + 1);
            }
        }
    }
    pattern.get(pattern_at..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, as slow as it is plain.
    fn reference(pattern: &[u8], name: &[u8]) -> bool {
        match pattern.split_first() {
            None => name.is_empty(),
            Some((b'*', rest)) => (0..=name.len()).any(|taken| reference(rest, &name[taken..])),
            Some((byte, rest)) => name.first() == Some(byte) && reference(rest, &name[1..]),
        }
    }

    #[test]
    fn a_star_is_any_part_of_a_name() {
        for (pattern, name, is) in [
            ("*.env", ".env", true),
            ("*.env", "a.env", true),
            ("*.env", "a.env.b", false),
            ("LC_*", "LC_ALL", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), is, "{pattern} {name}");
        }
    }

    proptest! {
        #[test]
        fn matches_as_defined(pattern in "[ab*]{0,8}", name in "[ab]{0,8}") {
            prop_assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                reference(pattern.as_bytes(), name.as_bytes())
            );
        }
    }
}
