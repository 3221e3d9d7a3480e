import { checkAwaited } from "./arguments.js";
import { InvalidArgumentError } from "./core/errors.js";
import type { SandboxOptions } from "./core/sandpipe.js";
import { load, type Loader, type WasmSource } from "./load.js";
import { policyOf } from "./policy-summary.js";
import type { Fetch } from "./redirects.js";
import { Sandbox } from "./sandbox.js";
import { settle } from "./settle.js";

/** What to connect to, and how. */
export interface ConnectOptions extends SandboxOptions {
  /**
   * Where the WebAssembly module comes from, if not from the package: the module, its bytes, an
   * answer that has it, or its address (in Node.js also a file's path). The module is loaded once:
   * later calls use what is there.
   */
  wasm?: WasmSource;
}

/**
 * Connects to an agent. It loads the WebAssembly module once and makes no request.
 *
 * @example
 * const sandbox = await connect({ url: "http://127.0.0.1:57468", token });
 *
 * @throws {InvalidArgumentError} An option is wrong.
 */
export type Connect = (options: ConnectOptions) => Promise<Sandbox>;

/**
 * `connect` for a runtime, which has its own way to get at the module, and may have one to make requests in
 * place of the global `fetch`.
 *
 * @param adapt Makes the options of the core from the caller's.
 * @internal
 */
export function connectWith(
  loader: Loader,
  fetch: Fetch = (url, init) => globalThis.fetch(url, init),
  adapt = (options: SandboxOptions): SandboxOptions => options,
): Connect {
  return async (options) => {
    // The core says what is wrong with options that are none.
    checkOptions(options);
    const { wasm, ...rest } = Object(options) as ConnectOptions;
    await load(loader, wasm);
    const make = async (): Promise<Sandbox> => new Sandbox(adapt(rest), fetch, policyOf(options));
    return await settle(make());
  };
}

/** The core says what else is wrong with them. */
function checkOptions(options: unknown): void {
  checkAwaited("options", options);
  if (typeof options !== "string" && !(options instanceof URL)) return;
  const hint = `Write connect({ url: ${JSON.stringify(String(options))} }).`;
  throw new InvalidArgumentError(`\`options\` must be an object, but is an address. ${hint}`, {
    hint,
  });
}
