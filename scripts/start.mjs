// @ts-check
/** `npm start [-- COMMAND ARGS…]`: builds what is needed and runs a command through the package. */

import { buildEverything } from "./build/everything.mjs";
import { run } from "./child-process.mjs";
import { command } from "./command.mjs";
import { setUpMachine } from "./setup/machine.mjs";

await command(async () => {
  await setUpMachine();
  await buildEverything();
  const own = process.argv.slice(2);
  const { exitCode } = await run(process.execPath, ["examples/quickstart.mjs", ...own]);
  return exitCode;
});
