use schemars::{Schema, schema_for};

use super::Policy;

/// The JSON Schema of a policy (draft 2020-12), for editors: `docs/policy.schema.json`.
#[must_use]
pub fn json_schema() -> Schema {
    schema_for!(Policy)
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::Path};

    use super::*;

    #[test]
    fn the_published_schema_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.schema.json");
        let schema = format!("{}\n", serde_json::to_string_pretty(&json_schema()).unwrap());
        if env::var_os("UPDATE_SCHEMA").is_some() {
            fs::write(&path, &schema).unwrap();
        }
        let published = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            published == schema,
            "write it anew: UPDATE_SCHEMA=1 cargo test -p sandpipe-policy schema"
        );
    }
}
