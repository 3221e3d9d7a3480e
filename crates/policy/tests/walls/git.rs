use std::fs;

use crate::support::{Place, walls};

#[test]
fn what_git_runs_by_itself_is_not_written() {
    if !walls() {
        return;
    }
    let place = Place::new();
    place.write("workspace/.git/hooks/pre-commit.sample", "");
    place.write("workspace/.git/config", "[core]\n");
    place.write("workspace/.git/objects/", "");
    place.write("workspace/.git/modules/sub/config", "");
    place.write("workspace/.git/modules/third_party/vendor/lib/config", "");
    place.write("workspace/.git/modules/vendor/lib/hooks/", "");
    place.refuses(
        "{}",
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
        ],
    );
    place.allows(
        "{}",
        &["echo object > .git/objects/1 && echo ref > .git/HEAD && mkdir -p .git/refs/heads"],
    );
    place.allows(
        r#"{ "extends": ["workspace", "!git"] }"#,
        &["echo mine > .git/hooks/post-checkout"],
    );
    let read_only = r#"{ "files": { "read": ["./.git"] } }"#;
    place.refuses(read_only, &["echo ../evil > .git/commondir", "mv .git old"]);
    assert_eq!(place.read("workspace/.git/config"), "[core]\n");
}

#[test]
fn what_is_missing_of_a_repository_is_not_made() {
    if !walls() {
        return;
    }
    let place = Place::new();
    place.refuses(
        "{}",
        &[
            "mkdir .git",
            "mkdir -p .git/hooks",
            "rmdir .git && mkdir -p .git/hooks",
            "mv .git x",
            "ln -s /tmp .git",
            "echo gitdir: x > .git",
        ],
    );
    assert!(!place.workspace.join(".git").exists());
    place.write("workspace/.git/objects/", "");
    place.refuses(
        "{}",
        &[
            "echo evil > .git/hooks/x",
            "rmdir .git/hooks && mkdir .git/hooks",
            "echo evil > .git/config",
        ],
    );
    assert_eq!(fs::read_dir(place.workspace.join(".git")).unwrap().count(), 1);
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
