import { initSync, makeEventsWith } from "./core/sandpipe.js";
import { LoadError } from "./errors.js";
import { makeEvents } from "./events.js";
import type { WasmSource } from "./types.js";

/** Gets the WebAssembly module where it was said to be, or the package's own. */
export type Loader = (source: WasmSource | undefined) => Promise<WebAssembly.Module>;

let loading: Promise<void> | undefined;

/** Loads the WebAssembly module, unless that has been done. */
export function load(loader: Loader, source: WasmSource | undefined): Promise<void> {
  loading ??= loader(source)
    .then((module) => {
      // Once begun with another module, initSync would not begin again.
      const isOurs = WebAssembly.Module.exports(module).some(({ name }) => name === "sandbox_new");
      if (!isOurs) throw new Error("this is another module than the package's");
      initSync({ module });
      makeEventsWith(makeEvents);
    })
    .catch((error: unknown) => {
      // The next connect() may bring another.
      loading = undefined;
      const reason = error instanceof Error ? error.message : String(error);
      throw new LoadError(`the WebAssembly module could not be loaded: ${reason}`, {
        cause: error,
      });
    });
  return loading;
}

/** The module that something else than an address gives. */
export function compile(
  source: Exclude<WasmSource, URL | string>,
): Promise<WebAssembly.Module> | WebAssembly.Module {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof Response) return compileResponse(source);
  return WebAssembly.compile(source);
}

/** The module that an answer has, compiled while it arrives if the server names its type. */
export async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) {
    throw new Error(`${response.url} answered ${response.status}`);
  }
  const type = response.headers.get("content-type") ?? "";
  if (type === "application/wasm") return WebAssembly.compileStreaming(response);
  if (type.startsWith("text/html")) {
    // A development server's answer to what it does not have.
    throw new Error(
      `${response.url} is a page. Keep the bundler from moving the package away from its module (in Vite: optimizeDeps.exclude: ["sandpipe"]), or name the module's address with connect({ wasm })`,
    );
  }
  return WebAssembly.compile(await response.arrayBuffer());
}
