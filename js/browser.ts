// The entry for browsers and bundlers, which know `new URL(…, import.meta.url)` and ship the file.
import { backgroundWith, type MakeBackground } from "./background.js";
import { connectWith, type Connect } from "./connect.js";
import { compile, compileResponse, type Loader } from "./load.js";
import type { WasmSource } from "./types.js";

export * from "./public.js";

const loader: Loader = async (source: WasmSource | undefined) => {
  const from = source ?? new URL("./sandpipe.wasm", import.meta.url);
  if (typeof from !== "string" && !(from instanceof URL)) return compile(from);
  return compileResponse(await fetch(from));
};

/** {@inheritDoc Connect} */
export const connect: Connect = connectWith(loader, (url, init) =>
  // What commands print is not kept on the disk.
  globalThis.fetch(url, { ...init, cache: "no-store" }),
);

/** {@inheritDoc MakeBackground} */
export const background: MakeBackground = backgroundWith(loader);
