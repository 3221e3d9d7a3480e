use std::{fs, path::PathBuf, process::Command};

use crate::support::{Place, quoted, users, walls};

pub(crate) const COMMITS: &str = r#"{ "extends": ["workspace", "commits"] }"#;

#[test]
fn a_repository_is_not_written() {
    if !walls() {
        return;
    }
    let place = Place::new();
    let repository = Repository::new(&place);
    fs::create_dir(repository.0.join(".git/worktrees")).unwrap();
    place.refuses(
        "{}",
        &[
            "echo evil > .git/hooks/post-checkout",
            "echo evil >> .git/config",
            "rm .git/config",
            "echo evil > x && mv x .git/config",
            "ln -f x .git/config",
            "echo ../evil > .git/commondir",
            "echo evil > .git/config.worktree",
            "mkdir .git/worktrees/evil",
            "mv .git/hooks old",
            "mv .git old",
            "rm -rf .git/refs",
            "chmod 0 .git/refs",
            "git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,sub",
        ],
    );
    place.allows("{}", &["git status && git log && git diff HEAD"]);
    place.allows(
        r#"{ "extends": ["workspace", "!git"] }"#,
        &["echo mine > .git/hooks/post-checkout"],
    );
}

/// What a command would have the user's own git run: a program that leaves a file beside the workspace.
pub(crate) const EVIL: &str = r#"evil="touch '$(dirname "$PWD")/ran'; false""#;

/// Each leads `git status` to a program, where it can be done.
const LEADS: [&str; 6] = [
    r#"git config core.fsmonitor "$evil""#,
    r#"mkdir evil && cp -r .git/objects .git/refs evil && git config -f evil/config core.fsmonitor "$evil" && echo ../evil > .git/commondir"#,
    r#"git config extensions.worktreeConfig true; git config -f .git/config.worktree core.fsmonitor "$evil""#,
    r#"cp -r .git evil && git config -f evil/config core.fsmonitor "$evil" && mv .git old && mv evil .git"#,
    r#"git init -q sub && cd sub && git config user.name a && git config user.email a@b && git commit -q --allow-empty -m a && git config core.fsmonitor "$evil" && cd .. && git -c core.fsmonitor= add sub"#,
    // In place of a repository that is broken git takes a directory that looks like a bare one.
    r#"cp -r .git/objects .git/refs .git/HEAD .git/config . && git config -f config core.worktree "$PWD" && git config -f config core.fsmonitor "$evil" && rm .git/HEAD"#,
];

#[test]
fn git_in_the_workspace_runs_nothing_of_what_commands_have_made() {
    if !walls() {
        return;
    }
    for lead in LEADS {
        // Without the rules for git it does: the programs try.
        for (policy, runs) in [(r#"{ "extends": ["workspace", "!git"] }"#, true), ("{}", false)] {
            for user in users() {
                let place = Place::new();
                let repository = Repository::new(&place);
                place.run(policy, *user, &format!("{EVIL}; {lead}"));
                repository.status();
                let ran = place.root().join("ran").exists();
                assert_eq!(ran, runs, "{user:?} {policy}: {lead}");
            }
        }
    }
}

/// The user's own.
pub(crate) struct Repository(pub(crate) PathBuf);

impl Repository {
    /// One with a commit, in the workspace.
    pub(crate) fn new(place: &Place) -> Self {
        Self::at(place.workspace.clone())
    }

    pub(crate) fn at(path: PathBuf) -> Self {
        fs::create_dir_all(&path).unwrap();
        let repository = Self(path);
        repository.git(&["init", "-q"]);
        fs::write(repository.0.join("file"), "content\n").unwrap();
        repository.git(&["add", "file"]);
        repository.git(&["commit", "-q", "-m", "first"]);
        repository
    }

    pub(crate) fn git(&self, args: &[&str]) {
        let (done, text) = self.try_git(args);
        assert!(done, "{args:?}: {text}");
    }

    pub(crate) fn try_git(&self, args: &[&str]) -> (bool, String) {
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.0).args([
            "-c",
            "safe.directory=*",
            "-c",
            "protocol.file.allow=always",
        ]);
        // The settings of who runs the tests, as to sign each commit, are not what the tests are about.
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "me")
                .env(format!("GIT_{role}_EMAIL"), "me@example");
        }
        let output = git.args(args).output().unwrap();
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), text)
    }

    /// What many a prompt does. What has become of the repository may be none.
    pub(crate) fn status(&self) {
        self.try_git(&["status"]);
    }
}

/// Makes a submodule that runs a program, where the index has one.
const MAKES: &str = r#"mkdir -p deep/a/b/c/sub && cd deep/a/b/c/sub && rm -f .git && git init -q . && git config user.name a && git config user.email a@b && git commit -q --allow-empty -m a && git config core.fsmonitor "$evil""#;

#[test]
fn a_submodule_is_not_made_by_commands() {
    if !walls() {
        return;
    }
    for is_checked_out in [true, false] {
        for (policy, runs) in [(r#"{ "extends": ["workspace", "!git"] }"#, true), ("{}", false)] {
            for user in users() {
                let place = Place::new();
                let library = Repository::at(place.root().join("library"));
                let library = library.0.to_str().unwrap();
                let origin = Repository::at(place.root().join("origin"));
                origin.git(&["submodule", "--quiet", "add", library, "deep/a/b/c/sub"]);
                origin.git(&["commit", "-q", "-m", "second"]);
                fs::remove_dir(&place.workspace).unwrap();
                origin.git(&["clone", "-q", ".", "../workspace"]);
                let repository = Repository(place.workspace.clone());
                if is_checked_out {
                    repository.git(&["submodule", "--quiet", "update", "--init"]);
                }
                place.run(policy, *user, &format!("{EVIL}; {MAKES}"));
                repository.status();
                let ran = place.root().join("ran").exists();
                assert_eq!(ran, runs, "{user:?} {policy}: checked out: {is_checked_out}");
                if policy == "{}" {
                    place.allows(policy, &["git status && echo > deep/a/b/c/beside"]);
                }
            }
        }
    }
}

#[test]
fn repositories_beside_each_other_in_the_workspace_are_not_written() {
    if !walls() {
        return;
    }
    let place = Place::new();
    for name in ["one", "group/two", "group/a/three"] {
        let repository = Repository::at(place.workspace.join(name));
        repository.git(&["worktree", "add", "-q", "../of-it"]);
        fs::rename(repository.0.join(".git"), repository.0.join("bare")).unwrap();
        fs::write(repository.0.join(".git"), "gitdir: bare\n").unwrap();
        place.refuses(
            "{}",
            &[
                &format!("echo evil >> {name}/bare/config"),
                &format!("echo evil > {name}/bare/commondir"),
                &format!("echo gitdir: x > {name}/.git"),
                &format!("mv {name} other"),
                &format!("mv {name}/bare other"),
                &format!("echo x > {name}/../of-it/.git"),
            ],
        );
        place.allows("{}", &[&format!("echo more > {name}/file && git -C {name} status")]);
    }
    // A command may have made that: it gets nothing by it.
    fs::create_dir_all(place.home.join(".ssh/keys")).unwrap();
    place.write("home/.ssh/keys/id", "secret");
    place.write("workspace/x/.git", &format!("gitdir: {}/.ssh/keys\n", place.home.display()));
    place.write("workspace/y/.git", "gitdir: ..\n");
    place.refuses("{}", &[&format!("cat {}/.ssh/keys/id", quoted(&place.home))]);
    place.allows("{}", &["echo > made"]);
}

#[test]
fn git_in_other_places_that_may_be_written_runs_no_hook_of_a_command() {
    if !walls() {
        return;
    }
    let hook = r#"mkdir -p .git/hooks; printf '#!/bin/sh\ntouch "$PWD/../ran"\n' > .git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit"#;
    let write = r#""files": { "write": ["../other"] }"#;
    for (extends, runs) in [("!git", true), ("workspace", false), ("commits", false)] {
        for repository in ["other", "other/a/b/c"] {
            for user in users() {
                let place = Place::new();
                let repository = Repository::at(place.root().join(repository));
                let policy = format!(r#"{{ "extends": ["workspace", "{extends}"], {write} }}"#);
                let path = quoted(&repository.0);
                place.run(&policy, *user, &format!("cd {path} && echo more >> file; {hook}"));
                assert_eq!(
                    fs::read_to_string(repository.0.join("file")).unwrap(),
                    "content\nmore\n"
                );
                repository.git(&["commit", "-q", "-a", "-m", "second"]);
                let ran = repository.0.join("../ran").exists();
                assert_eq!(ran, runs, "{user:?} {policy}: {path}");
            }
        }
    }
}

#[test]
fn a_repository_that_is_missing_is_not_made() {
    if !walls() {
        return;
    }
    let place = Place::new();
    for policy in ["{}", COMMITS] {
        place.refuses(
            policy,
            &[
                "mkdir .git",
                "mkdir -p .git/hooks",
                "rmdir .git && mkdir -p .git/hooks",
                "mv .git x",
                "ln -s /tmp .git",
                "echo gitdir: x > .git",
            ],
        );
    }
    assert!(!place.workspace.join(".git").exists());
}

#[test]
fn a_file_that_says_where_the_repository_is_stays() {
    if !walls() {
        return;
    }
    let place = Place::new();
    place.write("workspace/.git", "gitdir: ../repository\n");
    place.refuses("{}", &["echo gitdir: x > .git", "rm .git", "mv .git x"]);
    assert_eq!(place.read("workspace/.git"), "gitdir: ../repository\n");
}

#[test]
fn a_repository_that_a_private_directory_hides_is_read_from_within() {
    if !walls() {
        return;
    }
    for within in ["sub", "tree", "tree/sub"] {
        let mut place = Place::new();
        let temporary = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
        let root = temporary.path().canonicalize().unwrap();
        fs::write(root.join("other"), "secret\n").unwrap();
        let repository = Repository::at(root.join("repository"));
        let tree = root.join("tree");
        repository.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
        let workspace = if within == "sub" { repository.0.join(within) } else { root.join(within) };
        fs::create_dir_all(&workspace).unwrap();
        place.workspace.clone_from(&workspace);
        // For users who the tests are run as, too.
        let opened = Command::new("chmod").args(["-R", "a+rwX"]).arg(&root).status();
        assert!(opened.unwrap().success());
        place.allows(
            "{}",
            &[
                "echo mine > new && rm new && git -c safe.directory='*' log -1 --format=%s | grep first",
                "test -z \"$(git -c safe.directory='*' status --porcelain)\"",
            ],
        );
        let writes = [&repository.0.join(".git/config"), &tree.join("file")];
        let writes = writes.map(|path| format!("echo evil >> {}", quoted(path)));
        if within == "sub" {
            place.refuses("{}", &[&writes[0]]);
        } else {
            place.refuses("{}", &[&writes[0], "echo evil > \"$(git rev-parse --git-dir)/HEAD\""]);
        }
        place.refuses("{}", &[&format!("cat {}", quoted(root.join("other")))]);
        // A command wrote it: the repository names no such tree.
        let led = root.join("led");
        fs::create_dir(&led).unwrap();
        fs::copy(tree.join(".git"), led.join(".git")).unwrap();
        place.workspace = led;
        let config = repository.0.join(".git/config");
        place.refuses("{}", &[&format!("cat {}", quoted(config))]);
    }
}
