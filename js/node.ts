// The entry for Node.js, Deno and Bun: the module is a file beside this one.
import { readFile } from "node:fs/promises";

import { backgroundWith, type MakeBackground } from "./background.js";
import { connectWith, type Connect } from "./connect.js";
import { compile, compileResponse, type Loader } from "./load.js";
import { httpFetch } from "./node/http-fetch.js";
import type { WasmSource } from "./types.js";

export * from "./public.js";

const loader: Loader = async (source: WasmSource | undefined) => {
  const from = source ?? new URL("./sandpipe.wasm", import.meta.url);
  if (typeof from !== "string" && !(from instanceof URL)) return compile(from);
  const address = String(from);
  if (/^https?:/i.test(address)) return compileResponse(await fetch(address));
  // A string that is no file: URL is a path.
  const file = /^file:/i.test(address) ? new URL(address) : address;
  return WebAssembly.compile(await readFile(file));
};

/** {@inheritDoc Connect} */
export const connect: Connect = connectWith(
  loader,
  // The others' `fetch` is the quicker one.
  "Deno" in globalThis || "Bun" in globalThis ? undefined : httpFetch,
);

/** {@inheritDoc MakeBackground} */
export const background: MakeBackground = backgroundWith(loader);
