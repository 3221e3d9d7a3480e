import initialize, { useShim } from "./core/sandpipe.js";
import { LoadError } from "./core/errors.js";
import { onAbort } from "./abort.js";
import { CollectedBytes } from "./collected-bytes.js";
import { makeEvents } from "./events.js";
import { ExecResult } from "./exec-result.js";
import type { BufferSource, Response, URL, WasmModule } from "./platform.js";
import { deliver } from "./output-target.js";
import { makeError, settle } from "./settle.js";
import { describe, suggest } from "./wrong-value.js";

/** Something that a WebAssembly module can be made from. */
export type WasmSource = WasmModule | BufferSource | Response | URL | string;

/**
 * How a JavaScript runtime gets at the WebAssembly module.
 *
 * @internal
 */
export interface Loader {
  /** Compiles the module that the caller names: the option `wasm`. */
  readonly named: (source: WasmSource) => Promise<WebAssembly.Module>;
  /** Compiles the package's own, from the file. */
  readonly own: () => Promise<WebAssembly.Module>;
  /**
   * Compiles the package's own, from a copy inside a JavaScript module: for bundlers that leave the file
   * behind. It is imported only then.
   */
  readonly inline?: () => Promise<WebAssembly.Module>;
}

let loading: Promise<void> | undefined;

/**
 * Loads the WebAssembly module, unless that has been done.
 *
 * @internal
 */
export function load(loader: Loader, source: WasmSource | undefined): Promise<void> {
  loading ??= (source === undefined ? loadOwn(loader) : loader.named(source).then(start)).catch(
    (error: unknown) => {
      // The next connect() may bring another.
      loading = undefined;
      const hint = hintFor(source);
      const message = `the WebAssembly module could not be loaded: ${reasonOf(error)}. ${hint}`;
      throw new LoadError(message, { hint, cause: error });
    },
  );
  return loading;
}

async function loadOwn({ own, inline }: Loader): Promise<void> {
  try {
    await start(await own());
  } catch (error) {
    if (inline === undefined || !canCompile()) throw error;
    try {
      await start(await inline());
    } catch (another) {
      const reasons = `${reasonOf(error)}; its copy in JavaScript: ${reasonOf(another)}`;
      throw new AggregateError([error, another], reasons);
    }
  }
}

async function start(module: WebAssembly.Module): Promise<void> {
  // Once begun with another module, it would not begin again.
  const isOurs = WebAssembly.Module.exports(module).some(({ name }) => name === "sandbox_new");
  if (!isOurs) throw new Error("this is another module than the package's");
  // Not initSync(), which takes no module of another realm: edge workers and tests are given such.
  await initialize({ module_or_path: module });
  useShim({
    makeError,
    makeEvents,
    settle,
    deliver,
    describe,
    suggest,
    onAbort,
    // What crosses is a view of the core's memory.
    makeResult: (exitCode, output, runs) => new ExecResult(exitCode, output, runs.slice()),
    collectBytes: () => new CollectedBytes(),
  });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function hintFor(source: WasmSource | undefined): string {
  if (!canCompile()) {
    return "Nothing may compile WebAssembly here. In a page, allow it by the Content-Security-Policy: script-src 'wasm-unsafe-eval'. In an edge worker, import sandpipe/sandpipe.wasm as your platform does, and hand the WebAssembly.Module over: connect({ wasm: module })";
  }
  const file =
    "the package's file sandpipe.wasm, of the same version (import it as sandpipe/sandpipe.wasm)";
  return source === undefined
    ? `Name ${file} with connect({ wasm }): by its address, its bytes or a WebAssembly.Module`
    : `The option wasm must be ${file}: its address, its bytes or a WebAssembly.Module. Most need not name it`;
}

/** A module with nothing in it. */
const EMPTY = Uint8Array.of(0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00);

/** Whether this place lets a program compile WebAssembly. Some pages and edge workers don't. */
function canCompile(): boolean {
  try {
    new WebAssembly.Module(EMPTY);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a source is a compiled module; by its tag: another realm's is none of this one's class.
 *
 * @internal
 */
export function isModule(source: unknown): boolean {
  return Object.prototype.toString.call(source) === "[object WebAssembly.Module]";
}
