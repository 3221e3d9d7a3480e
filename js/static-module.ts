import { InvalidArgumentError } from "./core/errors.js";
import { isModule, type Loader } from "./load.js";

/**
 * For edge workers: they may load no code, and so take only a module that is imported statically.
 *
 * @internal
 */
export function staticModule(module: WebAssembly.Module): Loader {
  return {
    named: async (source) => {
      if (isModule(source)) return source;
      const given = typeof source === "string" || source instanceof URL ? "an address" : "bytes";
      throw new InvalidArgumentError(
        `\`options.wasm\` must be a WebAssembly.Module here, but is ${given}: a worker may load no code. Import the module statically, or leave the option out.`,
      );
    },
    own: async () => module,
  };
}
