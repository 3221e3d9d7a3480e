// The entry for Node.js, Deno and Bun.
import { backgroundWith, type MakeBackground } from "./background.js";
import { connectWith, type Connect } from "./connect.js";
import { loader, ownFetch, withoutProxy } from "./node-core.js";

export * from "./public.js";

/** {@inheritDoc Connect} */
export const connect: Connect = connectWith(loader, ownFetch, withoutProxy);

/** {@inheritDoc MakeBackground} */
export const background: MakeBackground = backgroundWith(loader);
