//! Files with secrets that the environment names.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::contents::secrets_below;
use crate::wildcard;

/// Variables that name files with secrets, or directories of some, and what of such a directory is meant.
const SECRET_FILES: &[(&str, &[&str])] = &[
    ("ANSIBLE_VAULT_PASSWORD_FILE", &[]),
    ("AWS_CONFIG_FILE", &[]),
    ("AWS_SHARED_CREDENTIALS_FILE", &[]),
    ("AWS_WEB_IDENTITY_TOKEN_FILE", &[]),
    ("AZURE_CONFIG_DIR", &[]),
    ("BOTO_CONFIG", &[]),
    ("BUNDLE_USER_CONFIG", &[]),
    ("CARGO_HOME", &["credentials", "credentials.toml"]),
    ("CLOUDSDK_CONFIG", &[]),
    ("CODEX_HOME", &[]),
    ("CLAUDE_CONFIG_DIR", &[]),
    ("COMPOSER_HOME", &["auth.json"]),
    ("DATABRICKS_CONFIG_FILE", &[]),
    ("DBT_PROFILES_DIR", &["profiles.yml"]),
    ("DOCKER_CONFIG", &[]),
    ("GH_CONFIG_DIR", &[]),
    ("GLAB_CONFIG_DIR", &[]),
    ("GNUPGHOME", &[]),
    ("GOOGLE_APPLICATION_CREDENTIALS", &[]),
    ("GRADLE_USER_HOME", &["gradle.properties"]),
    ("HCLOUD_CONFIG", &[]),
    ("HELM_REGISTRY_CONFIG", &[]),
    ("HF_HOME", &["stored_tokens", "token"]),
    ("HF_TOKEN_PATH", &[]),
    ("HISTFILE", &[]),
    ("HUB_CONFIG", &[]),
    ("KAGGLE_CONFIG_DIR", &[]),
    ("KRB5_KTNAME", &[]),
    ("KUBECONFIG", &[]),
    ("LINODE_CLI_CONFIG", &[]),
    ("MYSQL_TEST_LOGIN_FILE", &[]),
    ("NETRC", &[]),
    ("NPM_CONFIG_USERCONFIG", &[]),
    ("OCI_CLI_CONFIG_FILE", &[]),
    ("PASSWORD_STORE_DIR", &[]),
    ("PGPASSFILE", &[]),
    ("PGSERVICEFILE", &[]),
    ("PIP_CONFIG_FILE", &[]),
    ("PULUMI_HOME", &["credentials.json"]),
    ("RCLONE_CONFIG", &[]),
    ("REGISTRY_AUTH_FILE", &[]),
    ("SCW_CONFIG_PATH", &[]),
    ("SNOWFLAKE_HOME", &[]),
    ("SOPS_AGE_KEY_FILE", &[]),
    ("TF_CLI_CONFIG_FILE", &[]),
    ("TUNNEL_ORIGIN_CERT", &[]),
    ("VAULT_TOKEN_PATH", &[]),
    ("WANDB_CONFIG_DIR", &[]),
];

/// Variables that name another place for a directory of the home (XDG Base Directory Specification).
const MOVED_DIRECTORIES: &[(&str, &str)] = &[
    ("XDG_CACHE_HOME", "~/.cache/"),
    ("XDG_CONFIG_HOME", "~/.config/"),
    ("XDG_DATA_HOME", "~/.local/share/"),
    ("XDG_STATE_HOME", "~/.local/state/"),
];

/// Whatever else says of itself that it names one.
const SECRET_FILE_NAMES: &[&str] =
    &["*_TOKEN_FILE", "*_SECRET_FILE", "*_PASSWORD_FILE", "*_KEY_FILE", "*_CREDENTIALS_FILE"];

/// Finds the absolute paths of files with secrets that a variable names, in whatever case its name is: several with colons between.
/// What is relative begins in the workspace, and a prefix `FILE:` is left out.
#[must_use]
pub fn secret_files(name: &[u8], value: &[u8], workspace: &Path) -> Vec<PathBuf> {
    let name = name.to_ascii_uppercase();
    let known = SECRET_FILES.iter().find(|(known, _)| known.as_bytes() == name);
    let names_one =
        || SECRET_FILE_NAMES.iter().any(|known| wildcard::matches(known.as_bytes(), &name));
    let moved = MOVED_DIRECTORIES.iter().find(|(known, _)| known.as_bytes() == name);
    let within: Vec<&str> = match (known, moved) {
        (Some((_, within)), _) => within.to_vec(),
        (None, Some((_, directory))) => secrets_below(directory).collect(),
        (None, None) if names_one() => Vec::new(),
        (None, None) => return Vec::new(),
    };
    let value = value.strip_prefix(b"FILE:").unwrap_or(value);
    let paths = value.split(|byte| *byte == b':').filter(|path| !path.is_empty());
    let paths = paths.map(|path| workspace.join(OsStr::from_bytes(path)));
    let paths = paths.flat_map(|path| match within.as_slice() {
        [] => vec![path],
        names => names.iter().map(|name| path.join(name)).collect(),
    });
    paths.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_secrets_are_found_in_the_variables_that_name_them() {
        let found = |name: &str, value: &str| {
            let files = secret_files(name.as_bytes(), value.as_bytes(), Path::new("/work"));
            files.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        let moved = found("XDG_CONFIG_HOME", "/data/config");
        assert!(moved.contains("/data/config/gh ") && !moved.contains('*'), "{moved}");
        for (name, value, files) in [
            ("KUBECONFIG", "/a/one::two", "/a/one /work/two"),
            ("npm_config_userconfig", "/etc/user.npmrc", "/etc/user.npmrc"),
            ("GNUPGHOME", "/keys/gpg", "/keys/gpg"),
            ("KRB5_KTNAME", "FILE:/etc/me.keytab", "/etc/me.keytab"),
            ("CARGO_HOME", "/opt/cargo", "/opt/cargo/credentials /opt/cargo/credentials.toml"),
            ("HF_HOME", "/data/hf", "/data/hf/stored_tokens /data/hf/token"),
            ("SERVICE_TOKEN_FILE", "/run/token", "/run/token"),
            ("KUBECONFIG", "", ""),
            ("PATH", "/usr/bin", ""),
            ("GIT_CONFIG_GLOBAL", "/home/me/.gitconfig", ""),
        ] {
            assert_eq!(found(name, value), files, "{name}={value}");
        }
    }
}
