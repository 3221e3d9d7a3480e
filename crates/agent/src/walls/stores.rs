//! The stores of packages that each workspace has for itself.
//!
//! Stores of the home hold programs of other projects, and files that are linked into them. Commands
//! that could write there would change what runs unconfined. The tools are led to stores of the
//! workspace's own by variables, and make nothing in the home.

use std::{
    collections::BTreeMap,
    env,
    ffi::OsString,
    fs::{self, DirBuilder},
    io,
    os::unix::{ffi::OsStrExt, fs::DirBuilderExt},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

/// Variables that name a store, and its directory in those of the workspace.
const STORES: [(&str, &str); 7] = [
    ("BUN_INSTALL_CACHE_DIR", "bun"),
    ("COREPACK_HOME", "corepack"),
    ("GOMODCACHE", "go-mod"),
    ("PNPM_HOME", "pnpm"),
    ("POETRY_CACHE_DIR", "poetry"),
    ("UV_CACHE_DIR", "uv"),
    ("YARN_GLOBAL_FOLDER", "yarn"),
];

/// The same for directories of the home that commands share with other projects where they are there. A
/// variable that names another directory is left alone: it may have settings, as `CARGO_HOME` in images of Rust.
const SHARED: [(&str, &str, &str); 3] = [
    ("CARGO_HOME", "cargo", ".cargo"),
    ("GOCACHE", "go-build", ".cache/go-build"),
    ("npm_config_cache", "npm", ".npm"),
];

/// Modules that the user's own go has downloaded, in the home.
const GO_DOWNLOADS: &str = "go/pkg/mod/cache/download";

/// Returns the directory of a workspace's stores.
pub(super) fn directory(workspace: &Path, home: &Path) -> PathBuf {
    let cache_home = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache_home = cache_home.filter(|path| path.is_absolute());
    let cache_home = cache_home.unwrap_or_else(|| home.join(".cache"));
    let digest = Sha256::digest(workspace.as_os_str().as_bytes());
    let id = digest.first_chunk().copied().map_or(0, u64::from_be_bytes);
    cache_home.join("sandpipe/stores").join(format!("{id:016x}"))
}

/// Makes the directory of a workspace's stores, for its user alone.
///
/// # Errors
/// It can't be made.
pub(super) fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Makes the variables that lead tools to the stores of a workspace, for commands with that
/// environment.
pub(super) fn variables(
    directory: &Path,
    home: &Path,
    env: &BTreeMap<OsString, OsString>,
) -> BTreeMap<OsString, OsString> {
    let is_missing = |path: &str| home.join(path).symlink_metadata().is_err();
    // npm sets its own for what it runs, to where its cache is by default.
    let is_elsewhere = |name: &str, shared: &str| {
        env.iter().any(|(given, value)| given == name && *value != home.join(shared))
    };
    let missing =
        SHARED.iter().filter(|(name, _, shared)| is_missing(shared) && !is_elsewhere(name, shared));
    let stores = STORES.into_iter().chain(missing.map(|(name, store, _)| (*name, *store)));
    let mut variables: BTreeMap<OsString, OsString> =
        stores.map(|(name, store)| (name.into(), directory.join(store).into())).collect();
    // It would warn that it can't link from there.
    variables.insert("UV_LINK_MODE".into(), "copy".into());
    let downloads = home.join(GO_DOWNLOADS);
    let has_proxy = env.keys().any(|name| name == "GOPROXY")
        || fs::read_to_string(home.join(".config/go/env"))
            .is_ok_and(|settings| settings.contains("GOPROXY="));
    if !has_proxy && downloads.is_dir() {
        // Go's default, and where that can't be reached what is there. Go checks both by go.sum.
        let downloads = url_path(&downloads);
        let proxies = format!("https://proxy.golang.org|file://{downloads},direct");
        variables.insert("GOPROXY".into(), proxies.into());
    }
    variables
}

/// Writes a path as part of a URL, in which a comma or a bar would end it for go.
fn url_path(path: &Path) -> String {
    let encoded = |byte: &u8| match byte {
        b'/' | b'.' | b'_' | b'-' => char::from(*byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    path.as_os_str().as_bytes().iter().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_that_variables_name_are_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let own_npm = home.path().join(".npm");
        let env = [("CARGO_HOME", "/usr/local/cargo".into()), ("npm_config_cache", own_npm)];
        let env = env.map(|(name, path)| (name.into(), path.into()));
        let variables = variables(Path::new("/stores"), home.path(), &env.into());
        let set = |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, to)| to);
        assert_eq!(set("CARGO_HOME"), None);
        assert_eq!(set("npm_config_cache"), Some(&"/stores/npm".into()));
        assert_eq!(set("GOCACHE"), Some(&"/stores/go-build".into()));
    }
}
