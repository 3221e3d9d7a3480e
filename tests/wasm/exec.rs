use js_sys::{Array, Function};
use sandpipe::Execs;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::wasm_bindgen_test;

use crate::agent::{field, nobody, object, sandbox, settled, strings, text, undefined};

#[wasm_bindgen_test]
async fn resolves_the_exit_code_and_the_output_of_both_streams() {
    let args = strings(&["-c", "echo hello; echo oops >&2; exit 3"]);
    let promise = Execs::new(&sandbox()).exec(&"sh".into(), &args, &undefined(), nobody());

    let result = settled(promise).await.unwrap();

    assert_eq!(field(&result, "exitCode").as_f64(), Some(3.0));
    assert_eq!(text(&result, "output"), "hello\noops\n");
}

#[wasm_bindgen_test]
async fn resolves_characters_of_every_width() {
    // A string is made in one way where all is ASCII, in others where it is Latin-1, or more.
    for expected in ["a\n", "\u{FEFF}b", "naïve ÿ", "\u{FEFF}正在编译模块 – 😀 é\u{FFFF}"]
    {
        let promise = Execs::new(&sandbox()).exec(
            &"printf".into(),
            &strings(&["%s", expected]),
            &undefined(),
            nobody(),
        );

        let result = settled(promise).await.unwrap();

        assert_eq!(text(&result, "output"), expected);
    }
}

#[wasm_bindgen_test]
async fn resolves_texts_of_every_length() {
    // Several units are copied at once, and those that are left one by one.
    for char in ["a", "ÿ", "正", "😀"] {
        for length in 0..=9 {
            let expected = char.repeat(length) + "|";
            let args = strings(&["%s", &expected]);
            let promise =
                Execs::new(&sandbox()).exec(&"printf".into(), &args, &undefined(), nobody());

            let result = settled(promise).await.unwrap();

            assert_eq!(text(&result, "output"), expected);
        }
    }
}

#[wasm_bindgen_test]
async fn goes_on_when_the_handle_is_freed_meanwhile() {
    let sandbox = sandbox();
    let execs = Execs::new(&sandbox);
    let promise = execs.exec(&"echo".into(), &strings(&["a"]), &undefined(), nobody());
    drop(execs);
    drop(sandbox);

    let result = settled(promise).await.unwrap();

    assert_eq!(text(&result, "output"), "a\n");
}

#[wasm_bindgen_test]
async fn runs_calls_of_one_handle_side_by_side() {
    let execs = Execs::new(&sandbox());
    let runs: Vec<_> = (0..5)
        .map(|code| {
            let args = strings(&["-c", &format!("echo {code}; exit {code}")]);
            execs.exec(&"sh".into(), &args, &undefined(), nobody())
        })
        .collect();
    for (code, run) in (0_i32..).zip(runs) {
        let result = settled(run).await.unwrap();
        assert_eq!(field(&result, "exitCode").as_f64(), Some(f64::from(code)));
        assert_eq!(text(&result, "output"), format!("{code}\n"));
    }
}

#[wasm_bindgen_test]
async fn carries_text_of_every_kind_both_ways() {
    let text_of_every_kind = "a\0b é € 😀 \u{feff}\u{7f}";
    let env = object(&[("TEXT", "é 😀\n".into())]);
    let print = r#"printf '%s\000' "$TEXT"; printf 'a\000b \303\251 \342\202\254 \360\237\230\200 \357\273\277\177'"#;
    let options = object(&[("env", env.into())]);

    let promise =
        Execs::new(&sandbox()).exec(&"sh".into(), &strings(&["-c", print]), &options, nobody());

    let result = settled(promise).await.unwrap();
    assert_eq!(text(&result, "output"), format!("é 😀\n\0{text_of_every_kind}"));
}

#[wasm_bindgen_test]
async fn reports_each_event_to_on_output() {
    let seen = Array::new();
    let on_output = Function::new_with_args("seen, event", "seen.push(event.output)")
        .bind1(&JsValue::NULL, &seen);
    let options = object(&[("onOutput", on_output.unchecked_into())]);

    let promise = Execs::new(&sandbox()).exec(&"echo".into(), &strings(&["a"]), &options, nobody());

    settled(promise).await.unwrap();
    assert_eq!(seen.join("").as_string().as_deref(), Some("a\n"));
}
