import { background } from "../edge-light.js";
import { toolsWith, type MakeTools } from "./tools.js";

export type * from "./public.js";

/** {@inheritDoc MakeTools} */
export const tools: MakeTools = toolsWith(background);
