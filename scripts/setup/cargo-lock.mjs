// @ts-check
import { mustRun } from "../child-process.mjs";

/** Fails where Cargo.lock doesn't fit what the manifests ask for: a build would amend it quietly. */
export async function requireCurrentCargoLock() {
  await mustRun("cargo", ["fetch", "--locked", "--target", "wasm32-unknown-unknown"]);
}
