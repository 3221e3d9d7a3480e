// @ts-check
import { nodeRows } from "./rows/node.mjs";
import { runtimeRows } from "./rows/runtimes.mjs";
import { workerRows } from "./rows/workers.mjs";
import { pageRows } from "./rows/pages.mjs";

/** In the order of the table. */
export const rows = [...nodeRows, ...runtimeRows, ...workerRows, ...pageRows];
