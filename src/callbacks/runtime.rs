//! The function that runs scripts for background processes: the caller's.

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Function, Object, Promise, Reflect};
use sandpipe_client::background::{RunFailure, Runtime, ScriptResult};
use sandpipe_client::{AbortSignal, HostValue};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::web::abort::js_signal;

/// Something with a shell.
#[derive(Debug)]
pub(crate) struct JsRuntime {
    pub(crate) run: Function,
}

impl JsRuntime {
    fn call(&self, script: String, signal: Option<&AbortSignal>) -> Result<Promise, JsValue> {
        let options = Object::new();
        if let Some(signal) = signal.and_then(js_signal) {
            Reflect::set(&options, &"signal".into(), &signal)?;
        }
        let promise = self.run.call2(&JsValue::UNDEFINED, &script.into(), &options)?;
        Ok(Promise::resolve(&promise))
    }
}

impl Runtime for JsRuntime {
    fn run(
        &self,
        script: String,
        signal: Option<&AbortSignal>,
    ) -> LocalBoxFuture<'static, Result<ScriptResult, RunFailure>> {
        let called = self.call(script, signal);
        async {
            let result = match called {
                Ok(promise) => JsFuture::from(promise).await,
                Err(thrown) => Err(thrown),
            };
            let result = result.map_err(|thrown| RunFailure::Thrown {
                not_run: not_run(&thrown),
                error: HostValue::new(thrown),
            })?;
            let field = |name: &str| Reflect::get(&result, &name.into()).ok();
            let exit_code = field("exitCode").and_then(|code| code.as_f64());
            let output = field("output").and_then(|output| output.as_string());
            match (exit_code, output) {
                (Some(exit_code), Some(output)) => Ok(ScriptResult { exit_code, output }),
                _ => Err(RunFailure::NoResult),
            }
        }
        .boxed_local()
    }
}

/// Whether the runtime says for sure that it has not run the script.
fn not_run(thrown: &JsValue) -> bool {
    let field = |name: &str| Reflect::get(thrown, &name.into()).unwrap_or_default();
    field("mayHaveRun").as_bool() == Some(false)
        || field("code").as_string().as_deref() == Some("invalid_argument")
}
