// The entry for workerd, as Cloudflare runs it.
import { backgroundWith, type MakeBackground } from "./background.js";
import { connectWith, type Connect } from "./connect.js";
import module from "./sandpipe.wasm";
import { staticModule } from "./static-module.js";

export * from "./public.js";

const loader = staticModule(module);

/** {@inheritDoc Connect} */
export const connect: Connect = connectWith(loader);

/** {@inheritDoc MakeBackground} */
export const background: MakeBackground = backgroundWith(loader);
