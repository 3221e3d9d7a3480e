// The entry for browsers, and for bundlers. Those that know `new URL(…, import.meta.url)` ship the file.
import { backgroundWith, type MakeBackground } from "./background.js";
import { compile, compileResponse } from "./compile.js";
import { connectWith, type Connect } from "./connect.js";
import type { Loader } from "./load.js";

export * from "./public.js";

const loader: Loader = {
  named: async (source) =>
    typeof source === "string" || source instanceof URL
      ? compileResponse(await fetch(source))
      : compile(source),
  own: async () => compileResponse(await fetch(new URL("./sandpipe.wasm", import.meta.url))),
  inline: async () => {
    const { gzipBase64 } = await import("./inline-wasm.js");
    const gzip = Uint8Array.from(atob(gzipBase64), (character) => character.charCodeAt(0));
    const bytes = new Blob([gzip]).stream().pipeThrough(new DecompressionStream("gzip"));
    return WebAssembly.compile(await new Response(bytes).arrayBuffer());
  },
};

/** {@inheritDoc Connect} */
export const connect: Connect = connectWith(loader, (url, init) =>
  // What commands print is not kept on the disk.
  globalThis.fetch(url, { ...init, cache: "no-store" }),
);

/** {@inheritDoc MakeBackground} */
export const background: MakeBackground = backgroundWith(loader);
