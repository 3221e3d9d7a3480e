use sandpipe::Execs;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::agent::{connect, field, nobody, object, sandbox, settled, strings, text, undefined};

#[wasm_bindgen_test]
async fn an_answer_with_an_error_says_what_the_agent_said() {
    let promise = Execs::new(&sandbox()).get(&"no-such-exec".into());

    let failure = settled(promise).await.unwrap_err();

    assert_eq!(text(&failure, "name"), "HttpError");
    assert_eq!(text(&failure, "operation"), "get exec");
    assert_eq!(field(&failure, "status").as_f64(), Some(404.0));
    assert!(text(&failure, "message").contains("no-such-exec"));
}

#[wasm_bindgen_test]
async fn no_answer_is_a_failure_of_its_own() {
    // Nothing listens on port 1, and no page may ask for it.
    let promise = Execs::new(&connect("http://127.0.0.1:1", "token")).list();

    let failure = settled(promise).await.unwrap_err();

    assert_eq!(text(&failure, "name"), "HttpError");
    assert_eq!(field(&failure, "status").as_f64(), Some(0.0));
    assert!(text(&failure, "message").contains("http://127.0.0.1:1"));
    assert!(field(&failure, "cause").is_object());
}

#[wasm_bindgen_test]
async fn a_wrong_argument_rejects_and_says_which() {
    let promise = Execs::new(&sandbox()).exec(
        &"ls".into(),
        &strings(&["-l"]),
        JsValue::from(1).unchecked_ref(),
        nobody(),
    );
    let failure = settled(promise).await.unwrap_err();
    assert_eq!(text(&failure, "name"), "InvalidArgumentError");
    assert!(text(&failure, "message").contains("`options` must be an object, but is the number 1"));

    let failure = sandbox()
        .stream_output(JsValue::from(1).unchecked_ref(), &undefined(), &undefined())
        .err()
        .unwrap();
    assert_eq!(text(&failure, "name"), "InvalidArgumentError");
}

#[wasm_bindgen_test]
async fn closing_rejects_what_is_under_way() {
    let sandbox = sandbox();
    let args = strings(&["-c", "sleep 1000"]);
    let request = object(&[("command", "sh".into()), ("args", args.into())]);
    let exec = settled(Execs::new(&sandbox).create(&request)).await.unwrap();
    let waiting = Execs::new(&sandbox).wait(field(&exec, "id").unchecked_ref(), &undefined());

    sandbox.close();

    assert_eq!(text(&settled(waiting).await.unwrap_err(), "name"), "ClosedError");
    assert_eq!(
        text(&settled(Execs::new(&sandbox).list()).await.unwrap_err(), "name"),
        "ClosedError"
    );
    settled(Execs::new(&crate::agent::sandbox()).delete(field(&exec, "id").unchecked_ref()))
        .await
        .unwrap();
}
