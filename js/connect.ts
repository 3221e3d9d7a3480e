import { load, type Loader } from "./load.js";
import { type Fetch, withRedirects } from "./redirects.js";
import { Sandbox } from "./sandbox.js";
import type { ConnectOptions } from "./types.js";

/**
 * Connects to an agent. It loads the WebAssembly module once and makes no request.
 *
 * @throws {InvalidArgumentError} An option is wrong.
 */
export type Connect = (options: ConnectOptions) => Promise<Sandbox>;

/**
 * `connect` for a runtime, which has its own way to get at the module, and may have one to make requests in
 * place of the global `fetch`.
 *
 * @internal
 */
export function connectWith(
  loader: Loader,
  fetch: Fetch = (url, init) => globalThis.fetch(url, init),
): Connect {
  return async (options) => {
    // The core says what is wrong with options that are none.
    const { wasm, ...rest } = Object(options) as ConnectOptions;
    await load(loader, wasm);
    return new Sandbox(rest, withRedirects(fetch));
  };
}
