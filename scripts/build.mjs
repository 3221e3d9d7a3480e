// @ts-check
/** `npm run build` */

import { buildEverything } from "./build/everything.mjs";
import { command } from "./command.mjs";
import { setUpMachine } from "./setup/machine.mjs";

await command(async () => {
  await setUpMachine();
  await buildEverything();
  return 0;
});
