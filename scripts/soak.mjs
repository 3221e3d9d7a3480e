// @ts-check
/**
 * `npm run soak [-- --minutes N] [SCENARIO…]`: what `npm test` tests for seconds, for half an hour: faults of
 * every kind with new seeds, silent commands, limits of the system, clients that hold their places.
 */

import { run } from "./child-process.mjs";
import { buildEverything } from "./build/everything.mjs";
import { command } from "./command.mjs";
import { setUpMachine } from "./setup/machine.mjs";

await command(async () => {
  await setUpMachine();
  await buildEverything();
  const args = ["tests/faults/soak/main.mjs", ...process.argv.slice(2)];
  const { exitCode } = await run(process.execPath, args);
  return exitCode;
});
