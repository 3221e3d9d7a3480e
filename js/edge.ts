// The entry for edge workers: they instantiate no bytes, only a module that is imported statically.
import { connectWith, type Connect } from "./connect.js";
import { InvalidArgumentError } from "./errors.js";
import { compile } from "./load.js";
import module from "./sandpipe.wasm";
import type { WasmSource } from "./types.js";

export * from "./public.js";

/** {@inheritDoc Connect} */
export const connect: Connect = connectWith(async (source: WasmSource | undefined) => {
  if (typeof source === "string" || source instanceof URL) {
    throw new InvalidArgumentError(
      "`options.wasm` must be a WebAssembly.Module here, but is an address: a worker may load no code. Import the module statically, or leave the option out.",
    );
  }
  return source === undefined ? module : compile(source);
});
