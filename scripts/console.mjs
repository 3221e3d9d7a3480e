// @ts-check
/** `npm run console [-- ARGS…]`: builds what is needed and runs `sandpipe console`. */

import { join } from "node:path";
import { buildEverything } from "./build/everything.mjs";
import { run } from "./child-process.mjs";
import { command } from "./command.mjs";
import { dist } from "./project.mjs";
import { setUpMachine } from "./setup/machine.mjs";

await command(async () => {
  await setUpMachine();
  await buildEverything();
  const own = process.argv.slice(2);
  const program = join(dist, "cli", "sandpipe.js");
  const { exitCode } = await run(process.execPath, [program, "console", ...own]);
  return exitCode;
});
