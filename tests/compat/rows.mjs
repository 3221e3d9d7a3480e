// @ts-check
import { bundlerRows } from "./rows/bundlers.mjs";
import { nextRows } from "./rows/next.mjs";
import { nodeRows } from "./rows/node.mjs";
import { packageManagerRows } from "./rows/package-managers.mjs";
import { pageRows } from "./rows/pages.mjs";
import { runtimeRows } from "./rows/runtimes.mjs";
import { svelteRows } from "./rows/sveltekit.mjs";
import { testRunnerRows } from "./rows/test-runners.mjs";
import { typescriptRows } from "./rows/typescript.mjs";
import { viteRows } from "./rows/vite.mjs";
import { workerRows } from "./rows/workers.mjs";

/** In the order of the table. */
export const rows = [
  ...nodeRows,
  ...runtimeRows,
  ...workerRows,
  ...pageRows,
  ...viteRows,
  ...bundlerRows,
  ...nextRows,
  ...svelteRows,
  ...testRunnerRows,
  ...typescriptRows,
  ...packageManagerRows,
];
