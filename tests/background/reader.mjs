// @ts-check
// A client for another process to kill: it waits over SSH for output of a process that is silent.
import { background } from "sandpipe";
import { sshRuntime } from "sandpipe/node";

import { endless } from "./waiting-scripts.mjs";

const [options = "", baseDir = "", id = ""] = process.argv.slice(2);
const ssh = sshRuntime(JSON.parse(options));
const processes = background(
  {
    // Nothing but the end of its reader is to end it.
    run: (script, opts) => ssh.run(endless(script), opts),
  },
  { baseDir },
);
await processes.readOutput(id, { waitMs: 600_000 });
