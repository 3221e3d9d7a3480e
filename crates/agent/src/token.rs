use std::{
    env,
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, Read as _, Write as _},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use nix::{
    fcntl::OFlag,
    sys::prctl::set_dumpable,
    unistd::{Gid, getegid, geteuid, getgroups},
};
use subtle::ConstantTimeEq;

use crate::owned_path::{OpenWay, check_way, is_trusted};

/// The environment variable with the admin token.
pub(crate) const ADMIN_VARIABLE: &str = "SANDPIPE_ADMIN_TOKEN";
/// The environment variable with the read-only token.
pub(crate) const READONLY_VARIABLE: &str = "SANDPIPE_READONLY_TOKEN";

/// How many bytes a token file may have: no more fit into the head of a request.
const MAX_TOKEN_FILE: u64 = 64 * 1024;

/// What the bearer of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Everything.
    Admin,
    /// List and get execs, and read their output.
    ReadOnly,
}

/// The tokens that the agent accepts. Nothing of this is ever logged.
pub(crate) struct Tokens {
    admin: String,
    readonly: Option<String>,
}

/// Tokens, and where a client finds the admin token.
pub(crate) struct LoadedTokens {
    pub(crate) tokens: Tokens,
    pub(crate) admin_file: Option<PathBuf>,
}

/// Why the agent has no tokens that it could use.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// A token file can't be read.
    #[error("the token file {} can't be read: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    /// Standard input can't be read, or what is read from it can't be kept from others.
    #[error("the token can't be taken from standard input: {0}")]
    Stdin(io::Error),
    /// A token file is a directory, a pipe or a device.
    #[error(
        "the token file {} is no regular file: where the token comes from a pipe, give it in the \
         environment",
        .0.display()
    )]
    NotAFile(PathBuf),
    /// Others than the agent can read or write a token file.
    #[error(
        "others can read or write the token file {} (mode {mode:03o}, of the group {group}): run \
         `chmod 600 {}`; a container's secret, which can't be changed, is for the agent's user with mode \
         0400, or root's and for the agent's group with mode 0440; or give the token in the environment",
        path.display(), path.display()
    )]
    OpenToOthers { path: PathBuf, mode: u32, group: u32 },
    /// Another user than the agent's or root chose the token.
    #[error(
        "the token file {} belongs to the user {owner}: it has to be root's, or that of the user {own}, who \
         runs the agent",
        path.display()
    )]
    Owner { path: PathBuf, owner: u32, own: u32 },
    /// Others could put another file in its place.
    #[error("others could replace the token file {}: {way}, or keep it elsewhere", path.display())]
    Replaceable { path: PathBuf, way: OpenWay },
    /// A token is empty, or has characters that no header can carry.
    #[error("{0} holds no token: it must be one line of visible ASCII characters without spaces")]
    Unusable(String),
    /// Both tokens are the same.
    #[error("the admin token and the read-only token are the same: they must differ")]
    Same,
    /// The file for a new token can't be written.
    #[error("the token file {} can't be written: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
    /// The system has no random bytes.
    #[error("the system gave no random bytes for a token: {0}")]
    Random(getrandom::Error),
}

impl Tokens {
    /// What a token is good for. It takes as long for a wrong token as for a right one of the same
    /// length, and the length is no secret.
    pub(crate) fn role_of(&self, token: &str) -> Option<Role> {
        let admin = self.admin.as_bytes().ct_eq(token.as_bytes());
        let readonly =
            self.readonly.as_ref().map(|readonly| readonly.as_bytes().ct_eq(token.as_bytes()));
        if admin.into() {
            Some(Role::Admin)
        } else if readonly.is_some_and(Into::into) {
            Some(Role::ReadOnly)
        } else {
            None
        }
    }
}

/// Where the user gives the tokens; where it is in none of them, in the environment.
#[derive(Clone, Copy)]
pub(crate) struct TokenSources<'a> {
    pub(crate) admin_file: Option<&'a Path>,
    /// The admin token is the first line of standard input.
    pub(crate) admin_stdin: bool,
    pub(crate) readonly_file: Option<&'a Path>,
}

/// Takes the tokens from where the user gives them, and makes an admin token in `own_file` if there is
/// none. It is never that of an earlier agent: whoever listened on its port since may have got it.
pub(crate) fn load(sources: TokenSources<'_>, own_file: &Path) -> Result<LoadedTokens, TokenError> {
    let readonly = given(sources.readonly_file, READONLY_VARIABLE)?;
    let (admin, admin_file) = if sources.admin_stdin {
        (read_from_stdin()?, None)
    } else if let Some(admin) = given(sources.admin_file, ADMIN_VARIABLE)? {
        (admin, sources.admin_file.map(Path::to_path_buf))
    } else {
        (make(own_file)?, Some(own_file.to_path_buf()))
    };
    if readonly.as_ref() == Some(&admin) {
        return Err(TokenError::Same);
    }
    Ok(LoadedTokens { tokens: Tokens { admin, readonly }, admin_file })
}

/// Whether the user gives an admin token.
pub(crate) fn is_given(sources: TokenSources<'_>) -> bool {
    sources.admin_stdin || sources.admin_file.is_some() || env::var_os(ADMIN_VARIABLE).is_some()
}

fn given(file: Option<&Path>, variable: &str) -> Result<Option<String>, TokenError> {
    if let Some(path) = file {
        return read(path).map(Some);
    }
    match env::var(variable) {
        Ok(token) => check(&token, variable).map(Some),
        Err(env::VarError::NotPresent) => Ok(None),
        Err(env::VarError::NotUnicode(_)) => Err(TokenError::Unusable(variable.into())),
    }
}

/// Waits until standard input has something to be read, or is at its end. What is there stays to be read.
///
/// podman loses what a program says that ends with its input unread: the monitor of the container closes a socket on which
/// that input still is, and the end of such a connection discards what was sent the other way.
///
/// # Errors
/// Standard input can't be read, or what is read from it can't be kept from others.
pub fn await_stdin() -> io::Result<()> {
    // A command of the same user could read it from the agent's memory (ptrace(2), "Ptrace access mode checking").
    set_dumpable(false)?;
    io::stdin().lock().fill_buf().map(drop)
}

/// The first line of standard input. What comes after it stays there to be read.
fn read_from_stdin() -> Result<String, TokenError> {
    await_stdin().map_err(TokenError::Stdin)?;
    let mut line = String::new();
    io::stdin().lock().take(MAX_TOKEN_FILE).read_line(&mut line).map_err(TokenError::Stdin)?;
    check(&line, "standard input")
}

fn read(path: &Path) -> Result<String, TokenError> {
    let failed = |error| TokenError::Read { path: path.into(), error };
    let file = open(path).map_err(failed)?;
    // Of the file that is read, whatever its name leads to by now.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(TokenError::NotAFile(path.into()));
    }
    let (owner, group, own) = (metadata.uid(), metadata.gid(), geteuid().as_raw());
    if !is_trusted(&metadata).map_err(failed)? {
        return Err(TokenError::Owner { path: path.into(), owner, own });
    }
    let is_given = owner != own && is_group_of_agent(group).map_err(failed)?;
    if is_open_to_others(metadata.mode(), is_given) {
        let mode = metadata.mode() & 0o777;
        return Err(TokenError::OpenToOthers { path: path.into(), mode, group });
    }
    if let Err(way) = check_way(path, &metadata).map_err(failed)? {
        return Err(TokenError::Replaceable { path: path.into(), way });
    }
    let text = content(file).map_err(failed)?;
    check(&text, &path.display().to_string())
}

/// Opens a token file. A pipe that nobody writes to does not hold that up (`open()` in POSIX, `O_NONBLOCK`).
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)
}

fn content(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_TOKEN_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_TOKEN_FILE {
        let message = format!("it has more than {MAX_TOKEN_FILE} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

/// Whether others than the agent and the file's owner can read or write a token file. One that is given to the
/// agent by its owner its group may read.
fn is_open_to_others(mode: u32, is_given: bool) -> bool {
    mode & if is_given { 0o037 } else { 0o077 } != 0
}

/// Whether root may give a file to the agent by a group. Root's own stands for an access control list (acl(5)),
/// as systemd gives a service its credentials: of what that allows the mode shows the most.
fn is_group_of_agent(group: u32) -> io::Result<bool> {
    let is_groups = |own: Gid| own.as_raw() == group;
    Ok(group == 0 || is_groups(getegid()) || getgroups()?.into_iter().any(is_groups))
}

/// A token as RFC 9110, 5.5 lets a header carry it; the line end of a file is not part of it.
fn check(text: &str, place: &str) -> Result<String, TokenError> {
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(TokenError::Unusable(place.into()));
    }
    Ok(token.into())
}

/// Makes a token of 256 random bits. The file replaces what is there at once, and nobody else can read
/// it at any moment.
fn make(path: &Path) -> Result<String, TokenError> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(TokenError::Random)?;
    let token = random.iter().fold(String::new(), |mut token, byte| {
        // A string takes whatever is written to it.
        let _ok = write!(token, "{byte:02x}");
        token
    });
    write_whole(path, &token).map_err(|error| TokenError::Write { path: path.into(), error })?;
    Ok(token)
}

fn write_whole(path: &Path, token: &str) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    writeln!(file, "{token}")?;
    fs::rename(&unfinished, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_has_its_role_and_no_other_has_one() {
        let tokens = Tokens { admin: "a1".into(), readonly: Some("r1".into()) };
        assert_eq!(tokens.role_of("a1"), Some(Role::Admin));
        assert_eq!(tokens.role_of("r1"), Some(Role::ReadOnly));
        for wrong in ["", "a", "a1 ", "A1", "a1r1"] {
            assert_eq!(tokens.role_of(wrong), None);
        }
    }

    #[test]
    fn a_token_file_is_for_the_agent_alone() {
        for mode in [0o600, 0o400, 0o700] {
            assert!(!is_open_to_others(mode, true) && !is_open_to_others(mode, false), "{mode:o}");
        }
        for mode in [0o644, 0o604, 0o444, 0o620, 0o602, 0o601] {
            assert!(is_open_to_others(mode, true) && is_open_to_others(mode, false), "{mode:o}");
        }
        assert!(!is_open_to_others(0o440, true) && is_open_to_others(0o440, false));
    }

    #[test]
    fn a_token_is_one_visible_word() {
        assert_eq!(check("secret\n", "x").unwrap(), "secret");
        for unusable in ["", "\n", "two words", "two\nlines", "\u{e9}"] {
            assert!(check(unusable, "x").is_err());
        }
    }
}
