use js_sys::{Array, JsString};
use sandpipe::Execs;
use wasm_bindgen::JsCast;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::agent::{field, object, sandbox, settled, strings, text, undefined};

async fn create(script: &str) -> JsString {
    let request = object(&[("command", "sh".into()), ("args", strings(&["-c", script]).into())]);
    let exec = settled(Execs::new(&sandbox()).create(&request)).await.unwrap();
    field(&exec, "id").unchecked_into()
}

#[wasm_bindgen_test]
async fn gives_batches_up_to_the_exit_code() {
    let id = create("for i in 1 2 3; do echo $i; done; exit 5").await;
    let stream = sandbox().stream_output(&id, &undefined(), &undefined()).unwrap();
    let mut output = String::new();
    let mut exit_code = None;
    loop {
        let batch = settled(stream.next()).await.unwrap();
        if batch.is_undefined() {
            break;
        }
        let batch: Array = batch.unchecked_into();
        assert!(batch.length() > 0);
        for event in batch.iter() {
            output.push_str(&text(&event, "output"));
            exit_code = field(&event, "exitCode").as_f64();
        }
    }
    assert_eq!((output.as_str(), exit_code), ("1\n2\n3\n", Some(5.0)));
    assert!(settled(stream.next()).await.unwrap().is_undefined());
}

#[wasm_bindgen_test]
async fn ends_when_it_is_closed_while_it_is_read() {
    let id = create("sleep 1000").await;
    let stream = sandbox().stream_output(&id, &undefined(), &undefined()).unwrap();
    let reading = stream.next();
    stream.close();
    assert!(settled(reading).await.unwrap().is_undefined());
    assert!(settled(stream.next()).await.unwrap().is_undefined());
    settled(Execs::new(&sandbox()).delete(&id)).await.unwrap();
}

#[wasm_bindgen_test]
async fn a_second_call_of_next_meanwhile_finds_the_end_and_does_no_harm() {
    let id = create("sleep 0.1; echo a").await;
    let stream = sandbox().stream_output(&id, &undefined(), &undefined()).unwrap();
    let (first, second) = (stream.next(), stream.next());
    assert!(settled(second).await.unwrap().is_undefined());
    let batch: Array = settled(first).await.unwrap().unchecked_into();
    assert_eq!(text(&batch.get(0), "output"), "a\n");
}

#[wasm_bindgen_test]
async fn lists_now_and_after_a_change() {
    let stream = sandbox().stream_list(&undefined()).unwrap();
    let batch = settled(stream.next()).await.unwrap();
    assert!(Array::is_array(&field(&batch.unchecked_into::<Array>().get(0), "execs")));
    let id = create("true").await;
    let mut listed = false;
    while !listed {
        let batch: Array = settled(stream.next()).await.unwrap().unchecked_into();
        for list in batch.iter() {
            let execs: Array = field(&list, "execs").unchecked_into();
            listed |= execs.iter().any(|exec| field(&exec, "id") == **id);
        }
    }
    stream.close();
}
