// The entry for edge workers: they instantiate no bytes, only a module that is imported statically.
import { backgroundWith, type MakeBackground } from "./background.js";
import { connectWith, type Connect } from "./connect.js";
import { InvalidArgumentError } from "./errors.js";
import { compile, type Loader } from "./load.js";
import module from "./sandpipe.wasm";

export * from "./public.js";

const loader: Loader = {
  named: async (source) => {
    if (typeof source === "string" || source instanceof URL) {
      throw new InvalidArgumentError(
        "`options.wasm` must be a WebAssembly.Module here, but is an address: a worker may load no code. Import the module statically, or leave the option out.",
      );
    }
    return compile(source);
  },
  own: async () => module,
};

/** {@inheritDoc Connect} */
export const connect: Connect = connectWith(loader);

/** {@inheritDoc MakeBackground} */
export const background: MakeBackground = backgroundWith(loader);
