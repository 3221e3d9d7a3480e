// The entry for Node.js, Deno and Bun: the module is a file beside this one, unless they were bundled.
import { readFile } from "node:fs/promises";

import { backgroundWith, type MakeBackground } from "./background.js";
import { compile, compileResponse } from "./compile.js";
import { connectWith, type Connect } from "./connect.js";
import type { Loader } from "./load.js";
import { httpFetch } from "./node/http-fetch.js";

export * from "./public.js";

const loader: Loader = {
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

/** {@inheritDoc Connect} */
export const connect: Connect = connectWith(
  loader,
  // The others' `fetch` is the quicker one.
  "Deno" in globalThis || "Bun" in globalThis ? undefined : httpFetch,
);

/** {@inheritDoc MakeBackground} */
export const background: MakeBackground = backgroundWith(loader);
