//! Files behind the walls of a policy.

use std::{fs, os::unix::fs::symlink, path::Path};

use reqwest::Method;

use super::{refused, route};
use crate::walls::{Walled, users, walls};

#[tokio::test]
async fn what_the_policy_keeps_from_commands_it_keeps_from_clients() {
    if !walls() {
        return;
    }
    for user in users() {
        let fill = |workspace: &Path, home: &Path| {
            fs::create_dir(home.join(".ssh")).unwrap();
            fs::write(home.join(".ssh/id"), "secret").unwrap();
            fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
            fs::write(workspace.join(".git/config"), "config").unwrap();
            fs::write(workspace.join(".git/hooks/hook"), "hook").unwrap();
            symlink(home.join(".ssh"), workspace.join("link")).unwrap();
        };
        let walled = Walled::start_with(*user, &["--policy", "workspace"], fill, |_, _| {});
        let agent = &walled.agent;
        let put = |path: &Path, body: &'static str| {
            agent.call(agent.request(Method::PUT, &route("files", path)).body(body))
        };
        let ws = |path: &str| walled.workspace.join(path);
        // Hidden: it is empty, and nothing is kept that is put there.
        refused(agent.read_file(walled.home.join(".ssh/id")).await, 404, "No such").await;
        refused(agent.read_file(ws("link/id")).await, 404, "No such").await;
        refused(agent.read_file(agent.state.join("admin-token")).await, 404, "No such").await;
        assert_ne!(put(&walled.home.join(".ssh/authorized_keys"), "evil").await.status(), 201);
        assert_ne!(put(&ws("link/authorized_keys"), "evil").await.status(), 201);
        // Read-only.
        for path in
            [ws(".git/hooks/hook"), ws(".git/hooks/new"), ws(".git/config"), "/etc/hosts".into()]
        {
            let response = put(&path, "evil").await;
            assert!([403, 409].contains(&response.status().as_u16()), "{}", path.display());
            let response = agent.delete_file(&path).await;
            assert!([403, 404, 409].contains(&response.status().as_u16()), "{}", path.display());
            let to = path.to_str().unwrap();
            fs::write(ws("mine"), "mine").unwrap();
            let response = agent.act("move", ws("mine"), to).await;
            assert!([403, 409].contains(&response.status().as_u16()), "{}", path.display());
        }
        let removed = agent.remove_directory(ws(".git"), "").await;
        assert!([403, 409].contains(&removed.status().as_u16()));
        let tree = super::trees::stream(&[(".git/hooks/evil", tar::EntryType::Regular, "", "x")]);
        let put_tree = agent.request(Method::PUT, &route("trees", &walled.workspace)).body(tree);
        refused(agent.call(put_tree).await, 403, "Read-only").await;
        assert_eq!(fs::read(walled.home.join(".ssh/id")).unwrap(), b"secret");
        assert_eq!(super::names(&walled.home.join(".ssh")), ["id"]);
        assert_eq!(super::names(&ws(".git/hooks")), ["hook"]);
        assert_eq!(fs::read(ws(".git/config")).unwrap(), b"config");
        // What commands may is done, and seen by them.
        let private = format!("/tmp/private-{}", std::process::id());
        assert_eq!(put(&ws("made/file"), "content").await.status(), 201);
        assert_eq!(put(Path::new(&private), "of the box").await.status(), 201);
        let run = agent.run(&format!("cat made/file {private}; stat -c %u made/file; id -u")).await;
        let output = run.stdout();
        let ids = output.strip_prefix("contentof the box").unwrap();
        let mut ids = ids.lines();
        assert_eq!(ids.next(), ids.next(), "{output}");
        assert!(!Path::new(&private).exists());
    }
}

#[tokio::test]
async fn a_file_is_no_larger_than_the_policy_has_it() {
    if !walls() {
        return;
    }
    let walled = Walled::start(&["--policy", "workspace", "--max-file-size", "1MiB"]);
    let agent = &walled.agent;
    let put = |length: usize| {
        let path = route("files", walled.workspace.join("file"));
        agent.call(agent.request(Method::PUT, &path).body(vec![0; length]))
    };
    assert_eq!(put(1 << 20).await.status(), 201);
    refused(put((1 << 20) + 1).await, 413, "limits.fileSize").await;
    assert_eq!(fs::metadata(walled.workspace.join("file")).unwrap().len(), 1 << 20);
}
