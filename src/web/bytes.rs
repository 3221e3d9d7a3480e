//! Bytes that are collected where memory can be freed.

use js_sys::Uint8Array;
use sandpipe_client::output::Encoding;
use sandpipe_client::{HostOutput, HostValue};
use wasm_bindgen::prelude::*;

use crate::shim::{CollectedBytes, shim};

/// `bytes` with `more` behind them.
pub(super) fn append(bytes: &HostOutput, more: &[u8]) -> Result<HostOutput, JsValue> {
    let value = match bytes.value() {
        Some(value) => value.clone(),
        None => HostValue::new(shim().collect_bytes()?),
    };
    if let Some(collected) = value.downcast_ref::<CollectedBytes>() {
        collected.append(more)?;
    }
    // The client keeps no more than this counts to.
    let length = bytes.length().saturating_add(u32::try_from(more.len()).unwrap_or(u32::MAX));
    Ok(HostOutput::new(value, length, Encoding::Bytes))
}

/// All of them, as one array.
pub(super) fn whole(bytes: &HostOutput) -> Result<JsValue, JsValue> {
    match bytes.value().and_then(HostValue::downcast_ref::<CollectedBytes>) {
        Some(collected) => collected.whole(),
        None => Ok(Uint8Array::default().into()),
    }
}
