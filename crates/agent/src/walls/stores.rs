//! The stores of packages that each workspace has for itself.
//!
//! Stores of the home hold programs of other projects, and files that are linked into them. Commands
//! that could write there would change what runs unconfined. The tools are led to stores of the
//! workspace's own by variables, and make nothing in the home.

use std::{
    collections::BTreeMap,
    env,
    ffi::{OsStr, OsString},
    fs::{self, DirBuilder},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, MetadataExt},
    },
    path::{Path, PathBuf},
};

use nix::unistd::geteuid;
use sha2::{Digest, Sha256};

/// Variables that name a store, and its directory in those of the workspace.
const STORES: [(&str, &str); 8] = [
    ("BUN_INSTALL_CACHE_DIR", "bun"),
    ("COREPACK_HOME", "corepack"),
    ("GOMODCACHE", "go-mod"),
    ("PNPM_HOME", "pnpm"),
    ("POETRY_CACHE_DIR", "poetry"),
    ("UV_CACHE_DIR", "uv"),
    ("YARN_GLOBAL_FOLDER", "yarn"),
    // Headers and settings of builds, which node-gyp executes.
    ("npm_package_config_node_gyp_devdir", NODE_GYP),
];

const NODE_GYP: &str = "node-gyp";

/// Variable of the node-gyp in an npm before 11. A later npm warns of it each time.
const OLD_NODE_GYP: &str = "npm_config_devdir";

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
    cache_home(home).join("sandpipe/stores").join(id(workspace))
}

fn cache_home(home: &Path) -> PathBuf {
    absolute("XDG_CACHE_HOME").unwrap_or_else(|| home.join(".cache"))
}

/// Returns the path that a variable of the agent's names.
fn absolute(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn id(workspace: &Path) -> String {
    let digest = Sha256::digest(workspace.as_os_str().as_bytes());
    let id = digest.first_chunk().copied().map_or(0, u64::from_be_bytes);
    format!("{id:016x}")
}

/// Finds the user's store of pnpm, as pnpm does, without symbolic links.
pub(super) fn pnpm_store(home: &Path) -> Option<PathBuf> {
    let of_data = || absolute("XDG_DATA_HOME").map(|data| data.join("pnpm"));
    let pnpm = absolute("PNPM_HOME").or_else(of_data);
    let pnpm = pnpm.unwrap_or_else(|| home.join(".local/share/pnpm"));
    pnpm.join("store").canonicalize().ok().filter(|store| store.is_dir())
}

/// Makes the directory that commands in a workspace have in place of the user's store of pnpm, and
/// returns its path without symbolic links. Unlike the other stores it is mounted, so commands must
/// not be able to put a link into its place.
///
/// # Errors
/// It can't be made, or a link or something of another user is there.
pub(super) fn make_pnpm_store(workspace: &Path, home: &Path) -> io::Result<PathBuf> {
    let cache_home = cache_home(home);
    make(&cache_home)?;
    let mut path = cache_home.canonicalize()?;
    for name in ["sandpipe", "pnpm", &id(workspace)] {
        path.push(name);
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let found = path.symlink_metadata()?;
        if !found.is_dir() || found.uid() != geteuid().as_raw() {
            let message = format!("{} is no directory of this user", path.display());
            return Err(io::Error::other(message));
        }
    }
    Ok(path)
}

/// Makes the directory of a workspace's stores, for its user alone.
///
/// # Errors
/// It can't be made.
pub(super) fn make(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Makes the variables that lead tools to the stores of a workspace, for commands with that
/// environment. A variable that the policy keeps is left as it is.
pub(super) fn variables(
    directory: &Path,
    home: &Path,
    env: &BTreeMap<OsString, OsString>,
    is_kept: impl Fn(&str, &OsStr) -> bool,
) -> BTreeMap<OsString, OsString> {
    // Tools take an empty one as none.
    let given = |name: &str| {
        let value = env.iter().find(|(given, _)| *given == name).map(|(_, value)| value);
        value.filter(|value| !value.is_empty())
    };
    let is_missing = |path: &str| home.join(path).symlink_metadata().is_err();
    // npm sets its own for what it runs, to where its cache is by default.
    let is_elsewhere =
        |name: &str, shared: &str| given(name).is_some_and(|value| *value != home.join(shared));
    let missing =
        SHARED.iter().filter(|(name, _, shared)| is_missing(shared) && !is_elsewhere(name, shared));
    let stores = STORES.into_iter().chain(missing.map(|(name, store, _)| (*name, *store)));
    let stores = stores.filter(|(name, _)| !given(name).is_some_and(|value| is_kept(name, value)));
    let mut variables: BTreeMap<OsString, OsString> =
        stores.map(|(name, store)| (name.into(), directory.join(store).into())).collect();
    if variables.keys().any(|name| name == "UV_CACHE_DIR") && given("UV_LINK_MODE").is_none() {
        // It would warn that it can't link from there.
        variables.insert("UV_LINK_MODE".into(), "copy".into());
    }
    if given("PATH").is_some_and(|path| has_old_npm(path)) {
        variables.insert(OLD_NODE_GYP.into(), directory.join(NODE_GYP).into());
    }
    let downloads = home.join(GO_DOWNLOADS);
    let has_proxy = given("GOPROXY").is_some()
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

/// Returns whether the first npm in `PATH` is older than version 11.
fn has_old_npm(path: &OsStr) -> bool {
    let mut programs = env::split_paths(path).map(|directory| directory.join("npm"));
    let major = programs.find_map(|program| program.canonicalize().ok()).and_then(|program| {
        let package = fs::read(program.parent()?.parent()?.join("package.json")).ok()?;
        let package: serde_json::Value = serde_json::from_slice(&package).ok()?;
        package.get("version")?.as_str()?.split('.').next()?.parse::<u32>().ok()
    });
    major.is_some_and(|major| major < 11)
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
    use std::os::unix::fs::symlink;

    use super::*;

    /// The value of a variable, or `none`, in an environment that commands have `.npm` of the home
    /// in. The policy keeps what is in `/data`.
    fn variable(env: &[(&str, &str)], name: &str) -> String {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let env = env.iter().map(|(name, value)| {
            let value = value.replace('~', home.to_str().unwrap());
            ((*name).into(), value.into())
        });
        let is_kept = |_: &str, value: &OsStr| Path::new(value).starts_with("/data");
        let variables = variables(Path::new("/stores"), home, &env.collect(), is_kept);
        let found = variables.get(OsStr::new(name)).and_then(|value| value.to_str());
        found.unwrap_or("none").to_owned()
    }

    #[test]
    fn variables_of_the_user_are_kept_where_they_lead_elsewhere() {
        for (name, value, expected) in [
            ("CARGO_HOME", "/usr/local/cargo", "none"),
            ("npm_config_cache", "~/.npm", "/stores/npm"),
            ("npm_config_cache", "", "/stores/npm"),
            ("GOCACHE", "", "/stores/go-build"),
            ("GOCACHE", "/elsewhere", "none"),
            ("UV_CACHE_DIR", "/elsewhere", "/stores/uv"),
            ("UV_CACHE_DIR", "", "/stores/uv"),
            ("UV_CACHE_DIR", "/data/uv", "none"),
            ("UV_LINK_MODE", "symlink", "none"),
        ] {
            assert_eq!(variable(&[(name, value)], name), expected, "{name}={value}");
        }
        assert_eq!(variable(&[], "UV_LINK_MODE"), "copy");
        assert_eq!(variable(&[], "npm_package_config_node_gyp_devdir"), "/stores/node-gyp");
        assert_eq!(variable(&[("UV_CACHE_DIR", "/data/uv")], "UV_LINK_MODE"), "none");
    }

    #[test]
    fn npm_is_not_given_a_variable_that_it_warns_of() {
        for (version, expected) in [("10.9.4", "/stores/node-gyp"), ("11.2.0", "none")] {
            let root = tempfile::tempdir().unwrap();
            let bin = root.path().join("npm/bin");
            fs::create_dir_all(&bin).unwrap();
            fs::write(bin.join("npm-cli.js"), "").unwrap();
            let package = format!(r#"{{ "version": "{version}" }}"#);
            fs::write(root.path().join("npm/package.json"), package).unwrap();
            fs::create_dir(root.path().join("bin")).unwrap();
            symlink("../npm/bin/npm-cli.js", root.path().join("bin/npm")).unwrap();
            let path = root.path().join("bin");
            let found = variable(&[("PATH", path.to_str().unwrap())], OLD_NODE_GYP);
            assert_eq!(found, expected, "{version}");
        }
    }
}
