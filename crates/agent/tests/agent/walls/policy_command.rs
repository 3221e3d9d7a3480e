//! `sandpipe-agent policy`.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{FileExt, symlink},
    path::PathBuf,
    process::{Command, Stdio},
};

use tempfile::TempDir;

use super::walls;
use crate::support::{output_of, program};

/// What it prints, or says where it fails, in a directory that is its home and workspace.
fn policy(directory: &TempDir, args: &[&str], stdin: &str) -> Result<String, String> {
    policy_with(directory, args, stdin, &[])
}

/// The same, with these variables.
fn policy_with(
    directory: &TempDir,
    args: &[&str],
    stdin: &str,
    variables: &[(&str, &str)],
) -> Result<String, String> {
    let mut command = Command::new(program());
    command.envs(variables.iter().copied());
    command.arg("policy").args(args).current_dir(directory).env("HOME", directory.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = output_of(child);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

#[test]
fn a_policy_may_come_by_a_pipe() {
    let directory = TempDir::new().unwrap();
    let check = ["check", "/dev/stdin"];
    let told =
        policy(&directory, &check, r#"{ "extends": ["open"], "limits": { "openFiles": 9 } }"#);
    assert!(told.as_ref().is_ok_and(|told| told.starts_with("policy: custom\n")), "{told:?}");
    let error = policy(&directory, &check, "").unwrap_err();
    assert!(error.contains("/dev/stdin: invalid type: unit value, expected an object"), "{error}");
}

#[test]
fn what_is_asked_about_is_found_or_named() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let path = path.display();
    for (target, found) in [("~", String::new()), ("~/a", "/a".into()), ("~a", "/~a".into())] {
        let told = policy(&directory, &["explain", "strict", target], "").unwrap();
        assert!(told.starts_with(&format!("{path}{found}: read, ")), "{told}");
    }
    let error = policy(&directory, &["explain", "strict", "none/../a"], "").unwrap_err();
    assert!(error.contains(&format!("{path}/none/../a can't be looked at")), "{error}");
    let error = policy(&directory, &["check", "--workspace", "none"], "").unwrap_err();
    assert!(error.contains("the workspace none is not a directory that exists"), "{error}");
}

#[test]
fn check_and_explain_take_a_policy_alike_and_say_where_nothing_is_enforced() {
    let (home, workspace) = with_workspace();
    fs::create_dir(home.path().join(".ssh")).unwrap();
    fs::write(workspace.join("policy.json"), r#"{ "extends": ["strict"] }"#).unwrap();
    let place = ["--workspace", workspace.to_str().unwrap()];
    let ask = |args: &[&str]| policy(&home, &[args, &place[..]].concat(), "").unwrap();
    let file = workspace.join("policy.json");
    let file = file.to_str().unwrap();
    for named in [&["explain", "strict", "~/.ssh"][..], &["explain", file, "~/.ssh"]] {
        assert!(ask(named).contains("/.ssh: hide, by the rule:"), "{}", ask(named));
    }
    let option = ["explain", "--policy", "strict", "~/.ssh"];
    assert!(ask(&option).contains("/.ssh: hide, by the rule:"), "{}", ask(&option));
    let unconfined = "nothing is enforced: commands run unconfined, with the agent's permissions";
    assert_eq!(ask(&["explain", "open", "~/.ssh"]), format!("~/.ssh: {unconfined}\n"));
    // As `sandpipe run` has it.
    let own = ask(&["explain", "~/.ssh", "./x"]);
    assert!(own.contains("/.ssh: hide, by the rule:"), "{own}");
    assert!(own.contains("/x: write, by the rule: write ./ (preset workspace)"), "{own}");
    let told = ask(&["check", "open"]);
    assert!(told.contains(&format!("files and network: {unconfined}\n")), "{told}");
    assert!(!told.contains("hide") && !told.contains("network: host"), "{told}");
}

#[test]
fn too_many_tool_settings_are_an_error_that_says_where_they_are() {
    let (home, workspace) = with_workspace();
    for number in 0..2_001 {
        let directory = workspace.join(format!("d{number}"));
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join(".npmrc"), "").unwrap();
    }
    let place = ["--workspace", workspace.to_str().unwrap()];
    let check = |more: &[&str]| policy(&home, &[&["check"], more, &place[..]].concat(), "");
    let error = check(&[]).unwrap_err();
    assert!(error.contains(&format!("such as {}/d", workspace.display())), "{error}");
    assert!(
        error.contains("/.npmrc, or") && error.contains("--extend '!tool-settings'"),
        "{error}"
    );
    assert!(check(&["--extend", "!tool-settings"]).is_ok());
}

#[test]
fn explain_refuses_a_word_that_may_be_meant_as_something_else() {
    let (home, workspace) = with_workspace();
    fs::write(workspace.join("there"), "").unwrap();
    let place = ["--workspace", workspace.to_str().unwrap()];
    let ask = |args: &[&str]| policy(&home, &[&["explain"], args, &place[..]].concat(), "");
    for (word, meant) in [
        ("ofline", "did you mean offline"),
        ("offline", "say what the policy is to decide about"),
        ("API_KEY", "for a variable '$API_KEY'"),
        ("example.com", "for a host write example.com:443, for a path ./example.com"),
        ("https://example.com/a", "for a host write example.com:443"),
    ] {
        let error = ask(&[word]).unwrap_err();
        assert!(error.contains(meant) && error.contains(&format!("{word:?}")), "{error}");
    }
    for path in ["there", "./ofline", "a/b", ".env", "~"] {
        assert!(ask(&[path]).is_ok(), "{path}: {:?}", ask(&[path]));
    }
    // That of `sandpipe run`.
    let told = policy(&home, &[&["check"], &place[..]].concat(), "");
    assert!(told.as_ref().is_ok_and(|told| told.starts_with("policy: workspace\n")), "{told:?}");
}

/// A directory with a workspace in it.
fn with_workspace() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let workspace = directory.path().canonicalize().unwrap().join("work");
    fs::create_dir(&workspace).unwrap();
    (directory, workspace)
}

#[test]
fn an_index_that_claims_too_many_files_is_named() {
    let (directory, workspace) = with_workspace();
    let index = workspace.join("x/.git/index");
    fs::create_dir_all(index.parent().unwrap()).unwrap();
    let file = File::create(&index).unwrap();
    // It takes no room: all but the header is a hole.
    let header = [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &u32::MAX.to_be_bytes()].concat();
    file.write_all_at(&header, 0).unwrap();
    file.set_len(1 << 40).unwrap();
    let check = ["check", "workspace", "--workspace", workspace.to_str().unwrap()];
    let error = policy(&directory, &check, "").unwrap_err();
    let told = format!("{} can't be looked at: it has 4294967295 entries", index.display());
    assert!(error.contains(&told), "{error}");
    // Where it is no file there is nothing to read, and nobody waits for it.
    fs::remove_file(&index).unwrap();
    assert!(Command::new("mkfifo").arg(&index).status().unwrap().success());
    let explain = ["explain", "--policy", "workspace", "--workspace", check[3], "x/.git"];
    let told = policy(&directory, &explain, "").unwrap();
    assert!(told.contains("x/.git: read, by the rule:"), "{told}");
}

#[test]
fn a_word_alone_is_no_file() {
    let directory = TempDir::new().unwrap();
    fs::write(directory.path().join("stirct"), r#"{ "extends": ["open"] }"#).unwrap();
    let error = policy(&directory, &["check", "stirct"], "").unwrap_err();
    let told = "--policy stirct (did you mean strict?): it is neither a preset";
    assert!(error.contains(told), "{error}");
    assert!(policy(&directory, &["check", "./stirct"], "").is_ok());
}

#[test]
fn a_path_that_a_preset_closes_is_refused() {
    let (home, workspace) = with_workspace();
    fs::create_dir(home.path().join(".ssh")).unwrap();
    let place = ["--workspace", workspace.to_str().unwrap()];
    for (args, told) in [
        (
            ["--policy", "strict", "--allow-write", "."],
            "write . (policy): it has no effect, as the rule read ./ (preset strict) is for the same place and narrower: name a directory in it, or choose the policy offline",
        ),
        (
            ["--policy", "workspace", "--allow-read", "~/.ssh"],
            "the rule hide ~/.ssh (preset secrets) is for the same place and narrower: name a path in it, or leave that part out with --extend '!secrets'",
        ),
    ] {
        let error = policy(&home, &[&["check"], &args[..], &place].concat(), "").unwrap_err();
        assert!(error.contains(told), "{error}");
    }
    let narrower = ["explain", "--policy", "workspace", "--allow-read", ".", "./x"];
    let told = policy(&home, &[&narrower[..], &place].concat(), "").unwrap();
    assert!(told.contains("/x: read, by the rule: read . (policy)"), "{told}");
    let several = ["explain", "--policy", "workspace", "--allow-write", "~/.*", "~/.ssh"];
    let told = policy(&home, &[&several[..], &place].concat(), "").unwrap();
    assert!(told.contains("/.ssh: hide, by the rule:"), "{told}");
}

#[test]
fn a_workspace_that_commands_would_not_see_is_refused() {
    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join(".ssh")).unwrap();
    let secret = directory.path().join(".ssh");
    let secret = secret.to_str().unwrap();
    // The home must not be in it: that is another error.
    let home = directory.path().canonicalize().unwrap();
    let temporary = if home.starts_with("/tmp") { "/var/tmp" } else { "/tmp" };
    let private = format!("private {temporary} (preset system)");
    for policy_name in ["workspace", "offline", "strict"] {
        for (workspace, rule) in
            [(temporary, private.as_str()), (secret, "hide ~/.ssh (preset secrets)")]
        {
            let check = ["check", policy_name, "--workspace", workspace];
            let error = policy(&directory, &check, "").unwrap_err();
            let told = format!(
                "is not there for commands, by the rule: {rule}. What they write would be lost: choose another directory with --workspace DIR"
            );
            assert!(error.contains(&told), "{error}");
        }
    }
    // A directory below it is there, and nothing is lost without a policy.
    let below = tempfile::tempdir_in(temporary).unwrap();
    let explain = ["explain", "--workspace", below.path().to_str().unwrap(), "./x"];
    let told = policy(&directory, &explain, "").unwrap();
    assert!(told.contains("/x: write, by the rule: write ./ (preset workspace)"), "{told}");
    assert!(policy(&directory, &["check", "open", "--workspace", temporary], "").is_ok());
}

/// An index of git with a submodule of this name.
fn index_with_submodule(name: &str) -> Vec<u8> {
    let mut index = [b"DIRC".as_slice(), &2_u32.to_be_bytes(), &1_u32.to_be_bytes()].concat();
    index.extend([0; 24]);
    index.extend(0o160_000_u32.to_be_bytes());
    index.extend([0; 12 + 20]);
    index.extend(u16::try_from(name.len()).unwrap().to_be_bytes());
    index.extend(name.as_bytes());
    index.extend(vec![0; 8 - (62 + name.len()) % 8 + 20]);
    index
}

#[test]
fn an_index_that_a_command_has_written_opens_nothing() {
    for name in ["../../.ssh/id/sub", "key/sub", "../../.ssh", "../..", "../../.ssh/.git/sub"] {
        let (home, workspace) = with_workspace();
        fs::create_dir(home.path().join(".ssh")).unwrap();
        fs::write(home.path().join(".ssh/id"), "secret").unwrap();
        fs::create_dir_all(workspace.join("x/.git")).unwrap();
        symlink("../../.ssh/id", workspace.join("x/key")).unwrap();
        fs::write(workspace.join("x/.git/index"), index_with_submodule(name)).unwrap();
        let place = ["--workspace", workspace.to_str().unwrap()];
        for policy_name in ["workspace", "offline"] {
            let explain = [&["explain", policy_name, "~/.ssh/id", "~", "x"][..], &place].concat();
            let told = policy(&home, &explain, "").unwrap();
            let [key, parent, own]: [&str; 3] =
                told.lines().collect::<Vec<_>>().try_into().unwrap();
            assert!(key.contains("/.ssh/id: hide, by the rule:"), "{name}: {told}");
            assert!(!parent.contains(": write,"), "{name}: {told}");
            assert!(own.contains("/x: write, by the rule:"), "{name}: {told}");
        }
    }
}

/// A name by which a file would clear the screen, and add a line.
const FORGED: &str = "a\x1b[2J\nnetwork: none\u{202e}\u{200b}";
const SHOWN: &str = r"a\x1b[2J\nnetwork: none\u202e\u200b";

#[test]
fn every_character_of_a_name_shows() {
    let (directory, workspace) = with_workspace();
    fs::write(workspace.join(FORGED), "").unwrap();
    let named = ["--policy", "workspace", "--hide", "./a*", "--workspace"];
    let named = [&named[..], &[workspace.to_str().unwrap()]].concat();
    let explain = [&["explain"], &named[..], &[FORGED]].concat();
    let told = policy(&directory, &explain, "").unwrap();
    let hidden =
        format!("{}/{SHOWN}: hide, by the rule: hide ./a* (policy)\n", workspace.display());
    assert_eq!(told, hidden);
    let none = format!("{FORGED}/none");
    let error = policy(&directory, &["check", "--workspace", &none], "").unwrap_err();
    let message = format!("the workspace {SHOWN}/none is not a directory that exists");
    assert_eq!(error, format!("sandpipe-agent: {message}\n"));
    if !walls() {
        return;
    }
    let told = policy(&directory, &[&["check"], &named[..]].concat(), "").unwrap();
    assert!(
        told.contains(&format!("  hide    {}/{SHOWN}  (policy)\n", workspace.display())),
        "{told}"
    );
    assert_eq!(told.lines().filter(|line| line.starts_with("network:")).count(), 1, "{told}");
    assert!(!told.contains(['\x1b', '\u{202e}', '\u{200b}']), "{told}");
    let told = policy(&directory, &[&["check", "--dry-run"], &named[..]].concat(), "").unwrap();
    let word = format!("$'{}/", workspace.display());
    let name = r"a\x1b[2J\nnetwork: none\xe2\x80\xae\xe2\x80\x8b'";
    assert!(told.contains(&format!("{word}{name}")), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn files_with_secrets_in_the_home_are_hidden() {
    let (home, workspace) = with_workspace();
    let secrets = [
        ".cloudflared/cert.pem",
        ".mylogin.cnf",
        ".config/gh/hosts.yml",
        ".config/scw/config.yaml",
        ".config/Bitwarden CLI/data.json",
        ".supabase/access-token",
        ".aider.conf.yml",
        ".huggingface/token",
        ".mongodb/mongosh/history",
    ];
    let others = [".config/git/config", ".cursor/argv.json", ".config/helm/repositories.yaml"];
    for path in secrets.iter().chain(&others) {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    let explain = ["explain", "--workspace", workspace.to_str().unwrap()];
    let paths = secrets.iter().chain(&others).map(|path| format!("~/{path}"));
    let paths: Vec<String> = paths.collect();
    let args = explain.into_iter().chain(paths.iter().map(String::as_str));
    let told = policy(&home, &args.collect::<Vec<_>>(), "").unwrap();
    for (index, line) in told.lines().enumerate() {
        let is_hidden = line.contains(": hide, by the rule: hide ~/.");
        assert_eq!(is_hidden, index < secrets.len(), "{line}");
    }
    assert_eq!(told.lines().count(), paths.len());
}

#[test]
fn files_with_secrets_that_the_environment_names_are_hidden() {
    let (directory, workspace) = with_workspace();
    let root = directory.path().canonicalize().unwrap();
    for name in ["one", "two", "npmrc", "work/pgpass"] {
        fs::write(root.join(name), "").unwrap();
    }
    fs::create_dir(root.join("gnupg")).unwrap();
    fs::create_dir_all(root.join("config/gh")).unwrap();
    let at = |name: &str| root.join(name).display().to_string();
    let kubeconfig = format!("{}:{}", at("one"), at("two"));
    let (npmrc, gnupg, config) = (at("npmrc"), at("gnupg"), at("config"));
    let variables = [
        ("KUBECONFIG", kubeconfig.as_str()),
        ("NPM_CONFIG_USERCONFIG", &npmrc),
        ("GNUPGHOME", &gnupg),
        ("PGPASSFILE", "pgpass"),
        ("XDG_CONFIG_HOME", &config),
        // What all else lies in.
        ("DOCKER_CONFIG", root.to_str().unwrap()),
    ];
    let explain = |args: &[&str], path: &str| {
        let place = ["explain", "--workspace", workspace.to_str().unwrap()];
        let args = [&place[..], args, &[path]].concat();
        policy_with(&directory, &args, "", &variables).unwrap()
    };
    for file in ["one", "two", "npmrc", "gnupg/key", "work/pgpass", "config/gh/hosts.yml"] {
        let told = explain(&["--policy", "workspace"], &at(file));
        assert!(
            told.contains(": hide, by the rule: hide ") && told.contains("(preset secrets)"),
            "{told}"
        );
    }
    assert!(explain(&["--policy", "workspace"], &at("work")).contains(": write, by the rule"));
    // What is named itself is opened, and without the part there are no such rules.
    assert!(explain(&["--allow-read", &at("one")], &at("one")).contains(": read, by the rule"));
    assert!(!explain(&["--extend", "!secrets"], &at("two")).contains(": hide"));
    let url = [("MIRROR", "https://me:secret@mirror.example/")];
    let told = policy_with(
        &directory,
        &[
            "explain",
            "--policy",
            "workspace",
            "--workspace",
            workspace.to_str().unwrap(),
            "$MIRROR",
        ],
        "",
        &url,
    );
    assert!(told.unwrap().contains("$MIRROR: not passed, since it looks like a secret"));
}
