// The program `sandpipe`, which pkg-template/cli/bin/ starts.
import { setFlagsFromString } from "node:v8";

import { dieOf, OWN_FAILURE } from "./outcome.js";
import { main } from "./main.js";

// A regular expression that goes back and forth, such as `(a+)+$`, would keep this process from hearing
// anything, for ever. After 50 000 steps back V8 takes its other engine, whose time is linear; it has no
// lookarounds, back references and large counted repetitions, for which the other goes on.
setFlagsFromString("--enable-experimental-regexp-engine-on-excessive-backtracks");

// Node's own exit code for a crash, 1, could be taken for the command's. The terminal is restored by
// Node itself, on every way out but SIGKILL.
process.on("uncaughtException", (error) => {
  console.error(error);
  process.exit(OWN_FAILURE);
});

// All that was written has been taken by now, or given up; nothing else is to hold up the end.
const { exitCode, signal } = await main(process.argv.slice(2));
if (signal !== undefined) dieOf(signal);
process.exit(exitCode);
