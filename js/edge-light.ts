// The entry for the edge runtime of Vercel and Next.js, which gives a compiled module for `?module`.
import { backgroundWith, type MakeBackground } from "./background.js";
import { connectWith, type Connect } from "./connect.js";
import module from "./sandpipe.wasm?module";
import { staticModule } from "./static-module.js";

export * from "./public.js";

const loader = staticModule(module);

/** {@inheritDoc Connect} */
export const connect: Connect = connectWith(loader);

/** {@inheritDoc MakeBackground} */
export const background: MakeBackground = backgroundWith(loader);
