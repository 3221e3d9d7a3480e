//! `sandpipe-agent policy`.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// What it prints, or says where it fails, in a directory that is its home and workspace.
fn policy(directory: &TempDir, args: &[&str], stdin: &str) -> Result<String, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandpipe-agent"));
    command.arg("policy").args(args).current_dir(directory).env("HOME", directory.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
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
        let told = policy(&directory, &["explain", target], "").unwrap();
        assert!(told.starts_with(&format!("{path}{found}: write, ")), "{told}");
    }
    let error = policy(&directory, &["explain", "none/../a"], "").unwrap_err();
    assert!(error.contains(&format!("{path}/none/../a can't be looked at")), "{error}");
    let error = policy(&directory, &["check", "--workspace", "none"], "").unwrap_err();
    assert!(error.contains("the workspace none is not a directory that exists"), "{error}");
}
