use std::{
    collections::VecDeque,
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

/// A path without symbolic links, and the links that led there, each at its own place.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) path: PathBuf,
    pub(super) links: Vec<PathBuf>,
}

/// As many as the kernel follows (`path_resolution(7)`).
const MAX_LINKS: usize = 40;

/// Follows the symbolic links of an absolute path, as `realpath(3)` does.
///
/// # Errors
///
/// Those of `lstat(2)` and `readlink(2)`; `FilesystemLoop` for too many links.
pub(super) fn resolve(path: &Path) -> io::Result<Resolved> {
    // Most paths of policies are missing: that takes one call.
    fs::symlink_metadata(path)?;
    let mut resolved = Resolved { path: "/".into(), links: Vec::new() };
    let mut left: VecDeque<OsString> = names(path);
    while let Some(name) = left.pop_front() {
        if name == ".." {
            resolved.path.pop();
            continue;
        }
        let next = resolved.path.join(&name);
        let file_type = fs::symlink_metadata(&next)?.file_type();
        if !file_type.is_symlink() {
            if !left.is_empty() && !file_type.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            resolved.path = next;
            continue;
        }
        let target = fs::read_link(&next)?;
        resolved.links.push(next);
        if resolved.links.len() > MAX_LINKS {
            return Err(io::Error::from_raw_os_error(libc::ELOOP));
        }
        if target.is_absolute() {
            resolved.path = "/".into();
        }
        let mut first = names(&target);
        first.append(&mut left);
        left = first;
    }
    Ok(resolved)
}

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_as_by_the_system() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "").unwrap();
        symlink("a", root.join("relative")).unwrap();
        symlink(root.join("relative/b"), root.join("absolute")).unwrap();
        symlink("../../relative/b/../file", root.join("a/b/up")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for path in ["a", "relative/b", "absolute", "absolute/up", "a/b/../file"] {
            let path = root.join(path);
            assert_eq!(resolve(&path).unwrap().path, path.canonicalize().unwrap());
        }
        let links = resolve(&root.join("absolute/up")).unwrap().links;
        let expected = ["absolute", "relative", "a/b/up", "relative"].map(|link| root.join(link));
        assert_eq!(links, expected);
        for path in ["missing", "a/file/x", "loop"] {
            let path = root.join(path);
            let errors = (resolve(&path).unwrap_err(), path.canonicalize().unwrap_err());
            assert_eq!(errors.0.kind(), errors.1.kind(), "{}", path.display());
        }
    }
}
