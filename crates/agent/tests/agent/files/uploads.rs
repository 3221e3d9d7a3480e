//! Uploads in pieces, which are gone on with where they broke.

use std::{fs, os::unix::fs::MetadataExt};

use futures_util::{StreamExt, stream};
use reqwest::{Body, Method, Response};

use super::{Space, json_of, raw::pattern, refused, route};
use crate::support::{until, within};

const ID: &str = "0b9c2d1e-6f0a-4f7b-9a53-2f6f0d9a1c11";

impl Space {
    async fn piece(&self, offset: usize, query: &str, body: impl Into<Body>) -> Response {
        let query = format!("?upload={ID}&offset={offset}{query}");
        self.agent.call(self.put("made/file", &query).body(body)).await
    }
}

#[tokio::test]
async fn pieces_make_a_file_when_all_are_there() {
    let space = Space::start();
    let bytes = pattern(2_500_000);
    for (start, end) in [(0, 1_000_000), (1_000_000, 2_000_000), (500_000, 1_500_000)] {
        let progress = json_of(space.piece(start, "", bytes[start..end].to_vec()).await, 202).await;
        assert_eq!(progress["offset"], end.max(if start == 500_000 { 2_000_000 } else { 0 }));
        assert_eq!(space.names(), [] as [&str; 0]);
    }
    let gap = json_of(space.piece(2_000_001, "", "x").await, 409).await;
    assert_eq!((&gap["code"], &gap["offset"]), (&409.into(), &2_000_000.into()));
    for _ in 0..2 {
        let last = space.piece(2_000_000, "&complete=true", bytes[2_000_000..].to_vec()).await;
        let info = json_of(last, 201).await;
        assert_eq!(info["size"], 2_500_000);
    }
    assert_eq!(fs::read(space.path("made/file")).unwrap(), bytes);
    // What comes late of it changes nothing.
    assert_eq!(json_of(space.piece(0, "", "late").await, 202).await["offset"], 2_500_000);
    assert_eq!(fs::read(space.path("made/file")).unwrap(), bytes);
    assert_eq!(super::names(&space.path("made")), ["file"]);
}

#[tokio::test]
async fn an_upload_of_one_piece_replaces_as_any_other() {
    let space = Space::start();
    fs::create_dir(space.path("made")).unwrap();
    fs::write(space.path("made/file"), "old").unwrap();
    let mode = space.path("made/file").metadata().unwrap().mode();
    assert_eq!(space.piece(0, "&complete=true", "new").await.status(), 200);
    let metadata = space.path("made/file").metadata().unwrap();
    assert_eq!(
        (fs::read(space.path("made/file")).unwrap(), metadata.mode()),
        (b"new".into(), mode)
    );
}

#[tokio::test]
async fn an_upload_ends_with_its_last_piece_whatever_came_before() {
    let space = Space::start();
    assert_eq!(space.piece(0, "", "what an earlier try had").await.status(), 202);
    assert_eq!(json_of(space.piece(5, "&complete=true", "now").await, 201).await["size"], 8);
    assert_eq!(fs::read(space.path("made/file")).unwrap(), b"what now");
}

#[tokio::test]
async fn a_piece_that_breaks_is_gone_on_with_where_it_broke() {
    let space = Space::start();
    let bytes = pattern(3_000_000);
    let part = bytes[..2_000_000].to_vec();
    let chunks = stream::iter([Ok(part), Err(std::io::Error::other("as it is to"))]);
    let query = format!("?upload={ID}&offset=0");
    let broken = space.put("made/file", &query).body(Body::wrap_stream(chunks)).send();
    within(broken).await.unwrap_err();
    let mut offset = 0;
    until("what came of it is there", async || {
        // It says what there is.
        let response = json_of(space.piece(3_000_001, "", "").await, 409).await;
        offset = usize::try_from(response["offset"].as_u64().unwrap()).unwrap();
        offset > 0
    })
    .await;
    assert!(offset <= 2_000_000);
    let rest = bytes[offset..].to_vec();
    assert_eq!(space.piece(offset, "&complete=true", rest).await.status(), 201);
    assert_eq!(fs::read(space.path("made/file")).unwrap(), bytes);
}

#[tokio::test]
async fn another_try_takes_the_place_of_one_that_hangs() {
    let space = Space::start();
    let (first, second) = (pattern(1_000_000), pattern(2_000_000));
    let chunks = stream::iter([Ok::<_, std::io::Error>(first)]).chain(stream::pending());
    let query = format!("?upload={ID}&offset=0&complete=true");
    let hanging = space.put("made/file", &query).body(Body::wrap_stream(chunks)).send();
    let hanging = tokio::spawn(hanging);
    let temporary = format!("{}/#", space.workspace.display());
    until("it has begun", async || {
        let open = crate::support::open_files(space.agent.pid());
        open.iter().any(|path| path.to_string_lossy().starts_with(&temporary))
    })
    .await;
    assert_eq!(space.piece(0, "&complete=true", second.clone()).await.status(), 201);
    // It was not given up because nothing came of it any more, as the agent does after a while.
    refused(within(hanging).await.unwrap().unwrap(), 409, "another request has gone on").await;
    assert_eq!(fs::read(space.path("made/file")).unwrap(), second);
}

#[tokio::test]
async fn an_upload_is_given_up_or_refused_as_it_is_to_be() {
    let space = Space::start();
    let delete = || {
        let path = route("files", "made/file") + &format!("?upload={ID}");
        space.agent.call(space.agent.request(Method::DELETE, &path))
    };
    refused(delete().await, 404, "no such upload").await;
    assert_eq!(space.piece(0, "", "content").await.status(), 202);
    assert_eq!(delete().await.status(), 200);
    refused(delete().await, 404, "no such upload").await;
    assert_eq!(json_of(space.piece(7, "", "").await, 409).await["offset"], 0);
    assert_eq!(space.names(), [] as [&str; 0]);

    assert_eq!(space.piece(0, "&mode=600", "content").await.status(), 202);
    refused(space.piece(7, "&mode=644&complete=true", "").await, 400, "begun with").await;
    assert_eq!(space.piece(7, "&mode=600&complete=true", "").await.status(), 201);
    assert_eq!(space.path("made/file").metadata().unwrap().mode() & 0o777, 0o600);
    for wrong in ["?upload=", "?upload=a/b", "?upload=a&offset=-1", "?upload=a&complete=1"] {
        refused(space.agent.call(space.put("made/file", wrong).body("")).await, 400, "is").await;
    }
    let only_new = space.put("made/file", "?upload=x&complete=true").header("if-none-match", "*");
    refused(space.agent.call(only_new.body("new")).await, 412, "there already").await;
}

#[tokio::test]
async fn all_of_an_upload_is_appended_once() {
    let space = Space::start();
    fs::create_dir(space.path("made")).unwrap();
    fs::write(space.path("made/file"), "before,").unwrap();
    assert_eq!(space.piece(0, "&append=true", "one,").await.status(), 202);
    assert_eq!(fs::read(space.path("made/file")).unwrap(), b"before,");
    for _ in 0..2 {
        assert_eq!(space.piece(4, "&append=true&complete=true", "two").await.status(), 200);
        assert_eq!(fs::read(space.path("made/file")).unwrap(), b"before,one,two");
    }
    assert_eq!(super::names(&space.path("made")), ["file"]);
}

#[tokio::test]
async fn an_upload_outlives_the_process_that_has_opened_it() {
    let space = Space::start();
    assert_eq!(space.piece(0, "", "one,").await.status(), 202);
    let [pid] = space.agent.worker_pids()[..] else { panic!("no worker") };
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid.cast_signed()),
        nix::sys::signal::SIGKILL,
    )
    .unwrap();
    until("it is dead", async || !crate::support::lives(pid)).await;
    assert_eq!(space.piece(4, "&complete=true", "two").await.status(), 201);
    assert_eq!(fs::read(space.path("made/file")).unwrap(), b"one,two");
}
