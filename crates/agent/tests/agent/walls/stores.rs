//! Stores of packages: each workspace has its own, and those of the home can only be read.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use super::{Walled, can_run, users, walls};
use crate::support::needs;

const OFFLINE: [&str; 2] = ["--policy", "offline"];

/// Directories of the home that hold programs of other projects, or files that are linked into them.
const PROGRAMS_OF_OTHERS: [&str; 11] = [
    ".bun/install/cache",
    ".cache/node-gyp/20.0.0/include/node",
    ".cache/node/corepack",
    ".cache/pnpm/dlx",
    ".cache/pypoetry/virtualenvs",
    ".cache/sandpipe/stores/other",
    ".cache/typescript",
    ".cache/uv/archive-v0",
    ".local/share/pnpm/store",
    ".yarn/berry/cache",
    "go/pkg/mod/golang.org/toolchain",
];

#[tokio::test]
async fn commands_write_no_store_but_that_of_their_workspace() {
    if !walls() {
        return;
    }
    let fill = |_: &Path, home: &Path| {
        for directory in PROGRAMS_OF_OTHERS {
            fs::create_dir_all(home.join(directory)).unwrap();
            fs::write(home.join(directory).join("program"), "").unwrap();
        }
        fs::create_dir_all(home.join(".npm/_cacache")).unwrap();
    };
    for user in users() {
        for policy in ["workspace", "offline"] {
            let walled = Walled::start_with(*user, &["--policy", policy], fill, |_, _| {});
            for directory in PROGRAMS_OF_OTHERS {
                let script = format!("cd ~/{directory} && echo evil > program; echo evil > new");
                walled.agent.run(&script).await;
                let directory = walled.home.join(directory);
                assert_eq!(fs::read(directory.join("program")).unwrap(), b"", "{directory:?}");
                assert!(!directory.join("new").exists(), "{user:?} {policy} {directory:?}");
            }
            // A package that npm takes from here is checked.
            let run = walled.agent.run("echo > ~/.npm/_cacache/x && echo ${npm_config_cache-none}");
            assert_eq!(run.await.output(), "none\n", "{user:?} {policy}");
        }
    }
}

#[tokio::test]
async fn the_stores_are_left_to_the_next_sandbox_and_the_home_gains_nothing_else() {
    if !walls() {
        return;
    }
    for user in users() {
        let walled = Walled::start_as(*user, &OFFLINE);
        let stores = [
            "BUN_INSTALL_CACHE_DIR",
            "CARGO_HOME",
            "COREPACK_HOME",
            "GOCACHE",
            "GOMODCACHE",
            "npm_config_cache",
            "PNPM_HOME",
            "POETRY_CACHE_DIR",
            "UV_CACHE_DIR",
            "YARN_GLOBAL_FOLDER",
            "npm_package_config_node_gyp_devdir",
        ];
        let stores = stores.map(|name| format!("\"${name}\"")).join(" ");
        let script = format!("set -e; mkdir {stores}; set -- {stores}; echo $#");
        assert_eq!(walled.agent.run(&script).await.output(), "11\n", "{user:?}");
        let next = walled.another(*user, &OFFLINE);
        let run = next.run(&format!("rmdir {stores}")).await;
        assert_eq!((run.exit_code(), run.output()), (0, String::new()), "{user:?}");
        let names = |directory: &str| {
            let entries = fs::read_dir(walled.home.join(directory)).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>()
        };
        assert_eq!((names(""), names(".cache")), (vec![".cache".into()], vec!["sandpipe".into()]));
        assert_eq!(names(".cache/sandpipe/stores").len(), 1);
    }
}

#[tokio::test]
async fn a_policy_leads_tools_elsewhere_or_takes_the_stores_out() {
    if !walls() {
        return;
    }
    let policy = r#"{ "env": { "set": { "UV_CACHE_DIR": "/tmp/uv" } } }"#;
    let walled = Walled::start(&["--policy", policy]);
    assert_eq!(walled.agent.run("echo $UV_CACHE_DIR").await.output(), "/tmp/uv\n");
    let walled = Walled::start(&["--extend", "!caches"]);
    let run = walled.agent.run("echo ${UV_CACHE_DIR-none}; ls -A ~").await;
    assert_eq!(run.output(), "none\n");
}

#[tokio::test]
async fn a_variable_of_the_user_is_kept_where_commands_may_write_what_it_names() {
    if !walls() {
        return;
    }
    let named = ["--pass-env", "*", "--pass-env", "UV_CACHE_DIR"];
    for (uv, args, is_kept) in [
        ("workspace/.uv", &[][..], true),
        ("other", &["--allow-write", "../other"], true),
        ("other", &[], false),
        ("other", &named, true),
        ("home/.cache/uv", &[], false),
        ("", &[], false),
    ] {
        let make = |workspace: &Path, _: &Path| {
            fs::create_dir(workspace.with_file_name("other")).unwrap();
        };
        let with_uv = |command: &mut Command, home: &Path| {
            let path = home.with_file_name(uv);
            command.env("UV_CACHE_DIR", if uv.is_empty() { Path::new("") } else { &path });
        };
        let args = [&["--policy", "workspace"], args].concat();
        let walled = Walled::start_with(users()[0], &args, make, with_uv);
        let output = walled.agent.run("echo \"$UV_CACHE_DIR\"").await.output();
        let own = walled.home.with_file_name(uv);
        let is_own = output.trim_end() == own.to_str().unwrap();
        assert_eq!(is_own, is_kept, "{uv:?} {args:?}: {output}");
        assert!(is_kept || output.contains("/.cache/sandpipe/stores/"), "{output}");
    }
}

/// Has a tool install twice in an empty home, and once more in the next sandbox.
async fn installs(tool: &str, fill: impl FnOnce(&Path, &Path), script: &str) {
    if !walls() || !needs(can_run(tool), tool) {
        return;
    }
    let change = |command: &mut Command| {
        // Where rustup has the toolchains of the user who runs the tests.
        let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
        let rustup = env::var_os("RUSTUP_HOME").map_or_else(|| home.join(".rustup"), PathBuf::from);
        command.env("RUSTUP_HOME", rustup);
    };
    let walled = Walled::start_with(users()[0], &OFFLINE, fill, |command, _| change(command));
    let next = walled.another_with(users()[0], &OFFLINE, change);
    for agent in [&walled.agent, &walled.agent, &next] {
        let run = agent.run(&format!("set -e; {script}; echo INSTALLED")).await;
        assert!(run.stdout().ends_with("INSTALLED\n"), "{tool}: {}", run.output());
    }
    let mut gained = fs::read_dir(&walled.home).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(gained.all(|name| name == ".cache" || name == "go"), "{tool}");
}

/// A project that depends on a package in an archive.
fn fill_node_project(workspace: &Path, _: &Path) {
    fs::create_dir(workspace.join("package")).unwrap();
    let manifest = r#"{ "name": "dep", "version": "1.0.0" }"#;
    fs::write(workspace.join("package/package.json"), manifest).unwrap();
    done(Command::new("tar").args(["czf", "dep.tgz", "package"]).current_dir(workspace));
    let manifest =
        r#"{ "name": "a", "version": "1.0.0", "dependencies": { "dep": "file:dep.tgz" } }"#;
    fs::write(workspace.join("package.json"), manifest).unwrap();
}

fn done(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const NODE_SCRIPT: &str =
    "rm -rf node_modules; $TOOL install; test -e node_modules/dep/package.json";

#[tokio::test]
async fn npm_installs_twice_in_an_empty_home() {
    let script = "rm -rf node_modules; npm install --no-audit --no-fund; \
                  test -e node_modules/dep/package.json; test -e \"$npm_config_cache/_cacache\"";
    installs("npm", fill_node_project, script).await;
}

#[tokio::test]
async fn pnpm_installs_twice_in_an_empty_home() {
    let script = NODE_SCRIPT.replace("$TOOL", "pnpm") + "; test -e \"$PNPM_HOME/store\"";
    installs("pnpm", fill_node_project, &script).await;
}

#[tokio::test]
async fn pnpm_adds_to_what_was_installed_outside() {
    if !walls() || !needs(can_run("pnpm"), "pnpm") {
        return;
    }
    let fill = |workspace: &Path, home: &Path| {
        fill_node_project(workspace, home);
        let mut install = Command::new("pnpm");
        for name in ["PNPM_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "npm_config_store_dir"] {
            install.env_remove(name);
        }
        done(install.arg("install").env("HOME", home).current_dir(workspace));
        assert!(home.join(".local/share/pnpm/store").is_dir());
        // What is in this home only belongs to other projects.
        fs::write(home.join(".local/share/pnpm/store/program"), "theirs").unwrap();
    };
    for user in users() {
        let args = ["--policy", "offline"];
        let walled = Walled::start_with(*user, &args, fill, |_, _| {});
        let add = "set -e; mkdir package2; echo '{ \"name\": \"more\", \"version\": \"1.0.0\" }' > \
            package2/package.json; tar czf more.tgz package2; pnpm add ./more.tgz >&2; \
            test -e node_modules/more/package.json; test ! -e ~/.local/share/pnpm/store/program; \
            echo kept > ~/.local/share/pnpm/store/kept; echo ${PNPM_HOME-none}";
        let run = walled.agent.run(add).await;
        assert_eq!(run.stdout(), "none\n", "{user:?}: {}", run.output());
        let store = walled.home.join(".local/share/pnpm/store");
        assert!(store.join("program").exists() && !store.join("kept").exists(), "{user:?}");
        // The next sandbox has it, and a narrower one without caches only an empty one.
        let next = walled.another(*user, &args);
        let cat = "LC_ALL=C cat ~/.local/share/pnpm/store/kept";
        assert_eq!(next.run(cat).await.output(), "kept\n", "{user:?}");
        let create = json!({ "command": "sh", "args": ["-c", cat], "policy": "strict" });
        let exec = next.create(create).await;
        assert!(next.finish(&exec.id).await.output().contains("No such file"), "{user:?}");
        for narrower in ["offline", r#"{ "extends": ["offline", "!caches"] }"#] {
            let create = json!({ "command": "true", "args": [], "policy": narrower });
            let exec = next.create(create).await;
            assert_eq!(next.finish(&exec.id).await.exit_code(), 0, "{user:?} {narrower}");
        }
    }
}

#[tokio::test]
async fn a_link_in_place_of_the_private_store_of_pnpm_is_not_followed() {
    if !walls() {
        return;
    }
    let fill = |_: &Path, home: &Path| {
        fs::create_dir_all(home.join(".local/share/pnpm/store")).unwrap();
        fs::create_dir_all(home.join(".cache/sandpipe")).unwrap();
        fs::create_dir(home.join("elsewhere")).unwrap();
        symlink(home.join("elsewhere"), home.join(".cache/sandpipe/pnpm")).unwrap();
    };
    for user in users() {
        let walled = Walled::start_with(*user, &OFFLINE, fill, |_, _| {});
        let run = walled.agent.run("echo > ~/.local/share/pnpm/store/file && ls ~/elsewhere").await;
        assert_eq!((run.exit_code(), run.output()), (0, String::new()), "{user:?}");
        let elsewhere = walled.home.join("elsewhere");
        assert_eq!(fs::read_dir(elsewhere).unwrap().count(), 0, "{user:?}");
    }
    // Nor where commands can put one there.
    let fill = |_: &Path, home: &Path| {
        fs::create_dir_all(home.join(".local/share/pnpm/store")).unwrap();
        fs::create_dir(home.join(".cache")).unwrap();
    };
    let args = ["--policy", "offline", "--allow-write", "~/.cache"];
    let walled = Walled::start_with(users()[0], &args, fill, |_, _| {});
    let run =
        walled.agent.run("echo > ~/.local/share/pnpm/store/file; ls ~/.cache/sandpipe/pnpm/*");
    assert_eq!(run.await.output(), "");
}

#[tokio::test]
async fn bun_installs_twice_in_an_empty_home() {
    let script = NODE_SCRIPT.replace("$TOOL", "bun") + "; test -e \"$BUN_INSTALL_CACHE_DIR\"";
    installs("bun", fill_node_project, &script).await;
}

/// A wheel, which is an archive with what is to be installed and a description of it.
fn fill_wheel(workspace: &Path) {
    fs::write(workspace.join("dep.py"), "").unwrap();
    let info = workspace.join("dep-1.0.dist-info");
    fs::create_dir(&info).unwrap();
    fs::write(info.join("METADATA"), "Metadata-Version: 2.1\nName: dep\nVersion: 1.0\n").unwrap();
    let wheel = "Wheel-Version: 1.0\nGenerator: a\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    fs::write(info.join("WHEEL"), wheel).unwrap();
    let record = "dep.py,,\ndep-1.0.dist-info/METADATA,,\ndep-1.0.dist-info/WHEEL,,\n\
                  dep-1.0.dist-info/RECORD,,\n";
    fs::write(info.join("RECORD"), record).unwrap();
    let zip = ["-m", "zipfile", "-c", "dep-1.0-py3-none-any.whl", "dep.py", "dep-1.0.dist-info"];
    done(Command::new("python3").args(zip).current_dir(workspace));
    fs::remove_file(workspace.join("dep.py")).unwrap();
}

#[tokio::test]
async fn uv_installs_twice_in_an_empty_home() {
    let script = "rm -rf .venv; uv venv -q; uv pip install ./dep-1.0-py3-none-any.whl; \
                  .venv/bin/python -c 'import dep'; test -e \"$UV_CACHE_DIR\"";
    installs("uv", |workspace, _| fill_wheel(workspace), script).await;
}

#[tokio::test]
async fn poetry_installs_twice_in_an_empty_home() {
    let fill = |workspace: &Path, _: &Path| {
        fill_wheel(workspace);
        let project = "[tool.poetry]\npackage-mode = false\n[tool.poetry.dependencies]\npython = \"^3.8\"\n\
                       dep = { path = \"dep-1.0-py3-none-any.whl\" }\n";
        fs::write(workspace.join("pyproject.toml"), project).unwrap();
    };
    let script = "poetry install -n; poetry run python -c 'import dep'; \
                  test -e \"$POETRY_CACHE_DIR/virtualenvs\"";
    installs("poetry", fill, script).await;
}

#[tokio::test]
async fn cargo_fetches_twice_in_an_empty_home() {
    let fill = |workspace: &Path, _: &Path| {
        for (directory, dependency) in [("dep", String::new()), ("a", dependency_on(workspace))] {
            let directory = workspace.join(directory);
            fs::create_dir_all(directory.join("src")).unwrap();
            fs::write(directory.join("src/lib.rs"), "").unwrap();
            let name = directory.file_name().unwrap().display().to_string();
            let manifest =
                format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\n{dependency}");
            fs::write(directory.join("Cargo.toml"), manifest).unwrap();
        }
        commit(&workspace.join("dep"));
    };
    let script = "cd a; cargo metadata --format-version 1 > metadata; \
                  grep -q \"$CARGO_HOME/git/checkouts\" metadata";
    installs("cargo", fill, script).await;
}

fn dependency_on(workspace: &Path) -> String {
    let repository = workspace.join("dep").display().to_string().replace(' ', "%20");
    format!("[dependencies]\ndep = {{ git = \"file://{repository}\" }}\n")
}

fn commit(directory: &Path) {
    let git = |args: &[&str]| done(Command::new("git").args(args).current_dir(directory));
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "a"]);
}

#[tokio::test]
async fn go_takes_modules_that_its_user_has_downloaded() {
    let fill = |workspace: &Path, home: &Path| {
        let downloads = home.join("go/pkg/mod/cache/download/example.org/m/@v");
        fs::create_dir_all(&downloads).unwrap();
        let module = workspace.join("m");
        fs::create_dir(&module).unwrap();
        fs::write(module.join("go.mod"), "module example.org/m\n").unwrap();
        fs::copy(module.join("go.mod"), downloads.join("v1.0.0.mod")).unwrap();
        fs::write(downloads.join("v1.0.0.info"), r#"{ "Version": "v1.0.0" }"#).unwrap();
        commit(&module);
        let zip = format!("--output={}", downloads.join("v1.0.0.zip").display());
        let archive = ["archive", "--prefix=example.org/m@v1.0.0/", "--format=zip", &zip, "HEAD"];
        done(Command::new("git").args(archive).current_dir(&module));
        fs::write(workspace.join("go.mod"), "module a\n\nrequire example.org/m v1.0.0\n").unwrap();
    };
    let script = "export GONOSUMDB='*'; go mod download example.org/m; go list -m all > modules; \
                  test -e \"$GOMODCACHE/example.org/m@v1.0.0/go.mod\"";
    installs("go", fill, script).await;
}
