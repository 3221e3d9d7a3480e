use jsonc_parser::{
    ParseOptions,
    errors::{ParseError, ParseErrorKind},
    parse_to_serde_value,
};
use serde::{Deserialize, Deserializer, de};

use super::Policy;

/// Why a text is no policy: where, and what is wrong there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPolicy(String);

impl From<ParseError> for InvalidPolicy {
    fn from(error: ParseError) -> Self {
        let message = match error.kind() {
            ParseErrorKind::Custom(message) => message.clone(),
            _ => error.to_string(),
        };
        // What the parser adds where it doesn't know.
        let message = message.strip_suffix(" on line 1 column 1").unwrap_or(&message);
        Self(message.to_owned())
    }
}

/// JSON with comments and commas before a closing bracket, as editors take it, and no more.
const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads a policy.
///
/// # Errors
///
/// Not JSON, a field that a policy doesn't have or that is there twice, or a value that is none for its field. The message has
/// the path of the field, like `limits.memory`, unless it is of the whole.
pub fn parse(text: &str) -> Result<Policy, InvalidPolicy> {
    let Located(policy) = parse_to_serde_value(text, &SYNTAX)?;
    Ok(policy)
}

/// A policy whose errors have the path of the field.
struct Located(Policy);

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde_path_to_error::deserialize(deserializer).map(Self).map_err(|error| {
            let (path, inner) = (error.path().to_string(), error.inner());
            // Of the policy as a whole, and where the parser doesn't know.
            let has_path = path != "." && path != "?";
            de::Error::custom(if has_path { format!("{path}: {inner}") } else { inner.to_string() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Extend, Network};

    fn error(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_policy_has_comments_and_commas_at_the_end() {
        let policy = parse(
            r#"// What the build needs.
            { "$schema": "./policy.schema.json",
              "extends": ["workspace", "!git"], /* and its output */
              "files": { "write": ["./dist"], "read": ["~/shared"], "hide": ["**/.env", "~/.config/gcloud"] },
              "network": { "allow": ["api.example.com:443", "*.example.org"] },
              "unixSockets": false,
              "env": { "pass": ["PATH", "LC_*"], "set": { "TZ": "UTC" } },
              "limits": { "memory": "2 GiB", "cpu": 2, "cpuTime": "10 min", "processes": 512, "openFiles": 4096,
                          "fileSize": "4 GiB", "wallTime": "30 min", "output": 1048576, },
              "bestEffort": true }"#,
        )
        .unwrap();
        assert_eq!(policy.extends.as_ref().unwrap().len(), 2);
        assert!(matches!(policy.extends.as_ref().unwrap()[1], Extend::Without(_)));
        assert!(matches!(&policy.network, Some(Network::Allow(hosts)) if hosts.len() == 2));
        assert_eq!(policy.limits.output.unwrap().bytes(), 1 << 20);
        let written = serde_json::to_string(&policy).unwrap();
        assert_eq!(parse(&written).unwrap(), policy);
        assert_eq!(parse("{}").unwrap(), Policy::default());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_path() {
        for (text, path, reason) in [
            (
                r#"{ "file": {} }"#,
                "file",
                "unknown field `file`, expected one of `$schema`, `extends`",
            ),
            (r#"{ "files": { "wriet": [] } }"#, "files.wriet", "unknown field `wriet`"),
            (r#"{ "files": { "write": "./a" } }"#, "files.write", "expected a sequence"),
            (r#"{ "files": { "write": [1] } }"#, "files.write[0]", "expected a string"),
            (
                r#"{ "files": { "hide": ["a", "a/**b"] } }"#,
                "files.hide[1]",
                "is not a path of a policy",
            ),
            (r#"{ "extends": ["workspaec"] }"#, "extends[0]", "there is no preset \"workspaec\""),
            (r#"{ "extends": "workspace" }"#, "extends", "expected a sequence"),
            (r#"{ "network": "all" }"#, "network", "expected \"none\", \"host\" or {"),
            (r#"{ "network": { "alow": [] } }"#, "network.alow", "unknown field `alow`"),
            (r#"{ "network": {} }"#, "network", "missing field `allow`"),
            (
                r#"{ "network": { "allow": ["http://a"] } }"#,
                "network.allow[0]",
                "is not a host like",
            ),
            (r#"{ "env": { "pass": ["A=b"] } }"#, "env.pass[0]", "is not the name of a variable"),
            (r#"{ "env": { "set": { "A": 1 } } }"#, "env.set.A", "expected a string"),
            (r#"{ "limits": { "memory": "2 GB" } }"#, "limits.memory", "\"2 GB\" is not a size"),
            (r#"{ "limits": { "memory": -1 } }"#, "limits.memory", "-1 is not a size"),
            (r#"{ "limits": { "memory": 1.5 } }"#, "limits.memory", "expected a size"),
            (
                r#"{ "limits": { "wallTime": "30" } }"#,
                "limits.wallTime",
                "\"30\" is not a duration",
            ),
            (r#"{ "limits": { "processes": 0 } }"#, "limits.processes", "nonzero"),
            (r#"{ "limits": { "cpu": 0 } }"#, "limits.cpu", "0 is not a number of processors"),
            (r#"{ "bestEffort": "yes" }"#, "bestEffort", "expected a boolean"),
        ] {
            let error = error(text);
            assert!(
                error.starts_with(&format!("{path}: ")) && error.contains(reason),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn what_is_wrong_of_the_whole_is_said_without_a_path() {
        for (text, message) in [
            (r#"{ "bestEffort": true, "bestEffort": false }"#, "duplicate field `bestEffort`"),
            (
                "7",
                "invalid type: integer `7`, expected an object like {\"extends\": [\"workspace\"]}",
            ),
            (
                "",
                "invalid type: unit value, expected an object like {\"extends\": [\"workspace\"]}",
            ),
            ("{", "Unterminated object on line 1 column 2"),
        ] {
            assert_eq!(error(text), message, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for text in
            ["{", "{}{}", "{'a': 1}", "{ a: 1 }", "{ \"bestEffort\": tru }", "{ \"extends\" [] }"]
        {
            assert!(error(text).contains("on line 1 column "), "{text}: {}", error(text));
        }
    }
}
