//! Repositories that commands may commit to.

use std::{fs, path::Path, process::Command};

use crate::{
    git::{COMMITS, EVIL, Repository},
    support::{Place, quoted, users, walls},
};

#[test]
fn where_commands_may_commit_what_git_runs_by_itself_is_not_written() {
    if !walls() {
        return;
    }
    let place = Place::new();
    let repository = Repository::new(&place);
    repository.git(&["config", "user.name", "me"]);
    repository.git(&["config", "user.email", "me@example"]);
    Repository::at(place.workspace.join("a/nested"));
    place.write("workspace/.git/modules/sub/config", "");
    place.write("workspace/.git/modules/third_party/vendor/lib/config", "");
    place.write("workspace/.git/modules/vendor/lib/hooks/", "");
    place.refuses(
        COMMITS,
        &[
            "echo evil > .git/hooks/post-checkout",
            "echo evil >> .git/config",
            "rm .git/config",
            "echo evil > x && mv x .git/config",
            "ln -f x .git/config",
            "mv .git/hooks old",
            "mv .git old",
            "rm -rf .git/hooks",
            "echo evil > .git/modules/sub/config",
            "mv .git/modules/sub .git/modules/other",
            "echo evil > .git/modules/third_party/vendor/lib/config",
            "echo evil > .git/modules/vendor/lib/hooks/post-checkout",
            "mv .git/modules/vendor .git/modules/other",
            "echo evil >> a/nested/.git/config",
        ],
    );
    place.allows(
        COMMITS,
        &["git checkout -q -b branch-$(id -u) && echo $(id -u) > file && git commit -q -a -m mine && git stash list"],
    );
    // What is missing is not made.
    fs::remove_dir_all(repository.0.join(".git/hooks")).unwrap();
    fs::remove_file(repository.0.join(".git/config")).unwrap();
    place.refuses(
        COMMITS,
        &[
            "echo evil > .git/hooks/x",
            "rmdir .git/hooks && mkdir .git/hooks",
            "echo evil > .git/config",
        ],
    );
    assert!(!repository.0.join(".git/hooks").exists());
}

/// Each leads `git status` of the repository, of its working tree `tree`, of its submodule `sub` or
/// of the repository `nested` to a program by a file beside the settings.
const WORKTREE_LEADS: [&str; 9] = [
    r#"git config -f .git/config.worktree core.fsmonitor "$evil""#,
    r#"mkdir evil && cp -r .git/objects .git/refs evil && git config -f evil/config core.fsmonitor "$evil" && echo "$PWD/evil" > .git/worktrees/tree/commondir"#,
    r#"mv .git/worktrees/tree old && cp -r old .git/worktrees/tree && mkdir evil && cp -r .git/objects .git/refs evil && git config -f evil/config core.fsmonitor "$evil" && rm .git/worktrees/tree/commondir && echo "$PWD/evil" > .git/worktrees/tree/commondir"#,
    r#"mkdir evil && cp -r .git/objects .git/refs evil && git config -f evil/config core.fsmonitor "$evil" && echo "$PWD/evil" > .git/commondir"#,
    r#"git config -f .git/worktrees/tree/config.worktree core.fsmonitor "$evil""#,
    r#"cp -r .git evil && git config -f evil/config core.fsmonitor "$evil" && echo "gitdir: $PWD/evil" > tree/.git"#,
    r#"m=.git/modules/sub; mkdir evil && cp -r $m/objects $m/refs evil && git config -f evil/config core.fsmonitor "$evil" && echo "$PWD/evil" > $m/commondir"#,
    r#"git config -f .git/modules/sub/config.worktree core.fsmonitor "$evil""#,
    r#"m=nested/.git; mkdir evil && cp -r $m/objects $m/refs evil && git config -f evil/config core.fsmonitor "$evil" && echo "$PWD/evil" > $m/commondir"#,
];

#[test]
fn where_commands_may_commit_git_reads_no_settings_of_theirs_for_a_working_tree() {
    if !walls() {
        return;
    }
    for lead in WORKTREE_LEADS {
        let without = r#"{ "extends": ["workspace", "!git"] }"#;
        for (policy, runs) in [(without, true), (COMMITS, false)] {
            for user in users() {
                let place = Place::new();
                let library = Repository::at(place.root().join("library"));
                let repository = Repository::new(&place);
                let library = library.0.to_str().unwrap();
                repository.git(&["submodule", "--quiet", "add", library, "sub"]);
                Repository::at(repository.0.join("nested"));
                repository.git(&["worktree", "add", "-q", "tree"]);
                let trees = ["", "tree", "sub", "nested"].map(|name| repository.0.join(name));
                let trees = trees.map(Repository);
                for tree in &trees {
                    tree.git(&["config", "extensions.worktreeConfig", "true"]);
                }
                place.run(policy, *user, &format!("{EVIL}; {lead}"));
                for tree in &trees {
                    tree.status();
                }
                let ran = place.root().join("ran").exists();
                assert_eq!(ran, runs, "{user:?} {policy}: {lead}");
            }
        }
        // What git itself does there can still be done.
        let place = Place::new();
        let repository = Repository::new(&place);
        repository.git(&["config", "user.name", "me"]);
        repository.git(&["config", "user.email", "me@example"]);
        repository.git(&["worktree", "add", "-q", "tree"]);
        place.allows(
            COMMITS,
            &["n=$(id -u) && git worktree add -q new$n && cd new$n && echo $n > file && git commit -q -a -m $n && cd ../tree && echo $n > file && git stash -q && git stash pop -q && git commit -q -a -m $n && git rebase -q new$n -X theirs && git gc -q"],
        );
        assert!(!repository.0.join(".git/config.worktree").exists());
    }
}

/// What people do with git, in a working tree that commands may write.
const WORK: &str = r#"
set -e
export GIT_AUTHOR_NAME=me GIT_AUTHOR_EMAIL=me@example GIT_COMMITTER_NAME=me GIT_COMMITTER_EMAIL=me@example
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
n=$(id -u)
git switch -q -c base$n
echo a > a$n; git add a$n; git commit -q -m a; git commit -q --amend -m amended
git branch topic$n; git switch -q topic$n; echo b > b$n; git add b$n; git commit -q -m b
git switch -q base$n; echo c > c$n; git add c$n; git commit -q -m c
git merge -q --no-ff -m merged topic$n
git switch -q -c rebased$n topic$n; echo d > d$n; git add d$n; git commit -q -m d; git rebase -q base$n
echo more >> a$n; git stash -q; git stash pop -q; git commit -q -a -m stashed
git tag v$n; git tag -a -m tagged w$n
git worktree add -q -b tree$n tree$n
(cd tree$n; echo e > e$n; git add e$n; git commit -q -m e)
git worktree remove tree$n
git branch -q -D topic$n
git pack-refs --all; git gc -q; git fsck
git branch -q -D tree$n
test "$(git log -1 --format=%s)" = stashed
git status
"#;

/// What is not written of a repository that commands may commit to.
const SETTINGS: [&str; 6] = [
    "echo evil >> $common/config",
    "echo evil > $common/hooks/post-checkout",
    "echo evil > $common/config.worktree",
    "echo evil > $common/commondir",
    "mv $common/hooks $common/old",
    "test $own = $common && exit 1; rm -f $own/commondir && echo evil > $own/commondir",
];

/// Leads to what git has in a working tree.
const DIRECTORIES: &str = r#"rev() { git -c safe.directory='*' rev-parse --path-format=absolute "$@"; }; own=$(rev --git-dir) && common=$(rev --git-common-dir) && test -w $own || exit"#;

#[test]
fn commands_commit_in_each_kind_of_working_tree() {
    if !walls() {
        return;
    }
    for in_private in [true, false] {
        for within in ["repository", "repository/below", "tree", "tree/below", "repository/sub"] {
            let mut place = Place::new();
            let temporary = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
            let root = temporary.path().canonicalize().unwrap();
            let root = if in_private { root } else { place.root() };
            let library = Repository::at(root.join("library"));
            let repository = Repository::at(root.join("repository"));
            let library = library.0.to_str().unwrap();
            repository.git(&["submodule", "--quiet", "add", library, "sub"]);
            repository.git(&["commit", "-q", "-m", "second"]);
            repository.git(&["worktree", "add", "-q", root.join("tree").to_str().unwrap()]);
            place.workspace = root.join(within);
            fs::create_dir_all(&place.workspace).unwrap();
            for user in users() {
                open(&root);
                let outcome = place.run(COMMITS, *user, WORK);
                assert_eq!(outcome.code, Some(0), "{user:?} {root:?} {within}: {}", outcome.text);
                open(&root);
                let script = format!(
                    "{DIRECTORIES}; for at in $own $common; do echo > $at/made && rm $at/made || exit; done"
                );
                let outcome = place.run(COMMITS, *user, &script);
                assert_eq!(outcome.code, Some(0), "{user:?} {within}: {}", outcome.text);
                for setting in SETTINGS {
                    let script = format!("{DIRECTORIES}; {{ {setting}; }} && echo DONE");
                    let outcome = place.run(COMMITS, *user, &script);
                    let text = &outcome.text;
                    assert!(!text.contains("DONE"), "{user:?} {within}: {setting}: {text}");
                    assert_ne!(outcome.code, Some(0), "{user:?} {within}: {setting}: {text}");
                }
                let git_dir = repository.0.join(".git");
                for made in ["commondir", "config.worktree", "hooks/post-checkout"] {
                    assert!(!git_dir.join(made).exists(), "{within}: {made}");
                }
            }
        }
    }
}

/// Lets all users write, as those who the tests are run as.
fn open(root: &Path) {
    assert!(Command::new("chmod").args(["-R", "a+rwX"]).arg(root).status().unwrap().success());
}

#[test]
fn a_repository_that_does_not_name_a_working_tree_is_not_written_from_there() {
    if !walls() {
        return;
    }
    let mut place = Place::new();
    let other = Repository::at(place.root().join("other"));
    other.git(&["worktree", "add", "-q", place.root().join("tree").to_str().unwrap()]);
    let led = place.root().join("led");
    fs::create_dir(&led).unwrap();
    let own = other.0.join(".git/worktrees/tree");
    for named in [own, other.0.join(".git")] {
        // A command wrote it.
        fs::write(led.join(".git"), format!("gitdir: {}\n", named.display())).unwrap();
        place.workspace.clone_from(&led);
        let file = quoted(other.0.join(".git/evil"));
        place.allows(COMMITS, &["echo > made"]);
        place.refuses(COMMITS, &[&format!("echo > {file}")]);
    }
    // A rule of the policy decides.
    place.workspace = place.root().join("tree");
    let with =
        |rule: &str| format!(r#"{{ "extends": ["workspace", "commits"], "files": {{ {rule} }} }}"#);
    let file = quoted(other.0.join(".git/new"));
    place.refuses(&with(r#""read": ["../other"]"#), &[&format!("echo > {file}")]);
    place.refuses(&with(r#""hide": ["../other"]"#), &[&format!("ls {file}/..")]);
    place.allows(COMMITS, &[&format!("echo > {file}")]);
}
