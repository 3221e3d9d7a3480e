// @ts-check
/** `npm run soak`: the suite `faults` with more and larger runs, and with new seeds each time. */

import { buildEverything } from "./build/everything.mjs";
import { command } from "./command.mjs";
import { setUpMachine } from "./setup/machine.mjs";
import { soak } from "./suites/faults.mjs";

await command(async () => {
  await setUpMachine();
  await buildEverything();
  const { failed } = await soak();
  return failed === 0 ? 0 : 1;
});
