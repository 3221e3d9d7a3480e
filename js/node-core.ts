// How Node.js, Deno and Bun get the core and make requests: the module is a file beside this one, unless they were bundled.
import { readFile } from "node:fs/promises";

import { compile, compileResponse } from "./compile.js";
import type { SandboxOptions } from "./core/sandpipe.js";
import type { Loader } from "./load.js";
import { httpFetch } from "./node/http-fetch.js";
import { isLoopback, mayHaveProxy } from "./node/loopback.js";
import type { Fetch } from "./redirects.js";

export const loader: Loader = {
  named: async (source) =>
    typeof source === "string" || source instanceof URL
      ? compileAddress(String(source))
      : compile(source),
  own: async () => compileAddress(String(new URL("./sandpipe.wasm", import.meta.url))),
  inline: async () => {
    const { gzipBase64 } = await import("./inline-wasm.js");
    const { gunzipSync } = await import("node:zlib");
    return WebAssembly.compile(gunzipSync(Buffer.from(gzipBase64, "base64")));
  },
};

async function compileAddress(address: string): Promise<WebAssembly.Module> {
  if (/^https?:/i.test(address)) return compileResponse(await fetch(address));
  // A string that is no file: URL is a path.
  const file = /^file:/i.test(address) ? new URL(address) : address;
  return WebAssembly.compile(await readFile(file));
}

/** In Deno and Bun the global `fetch` is the quicker one, but sends requests to this machine through a proxy, too. */
const hasQuickFetch = "Deno" in globalThis || "Bun" in globalThis;

/** Makes requests: to agents on this machine without a proxy, to others as the runtime does. */
export const ownFetch: Fetch = (url, init) =>
  hasQuickFetch && !(isLoopback(url) && mayHaveProxy())
    ? globalThis.fetch(url, init)
    : httpFetch(url, init);

/**
 * Adapts options: a WebSocket of the runtime would go through a proxy, too, and the core makes none where it is given headers.
 */
export function withoutProxy(options: SandboxOptions): SandboxOptions {
  if (!isLoopback(options.url) || !mayHaveProxy()) return options;
  return { ...options, headers: options.headers ?? {} };
}
