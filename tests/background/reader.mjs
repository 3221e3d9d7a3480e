// @ts-check
// A client for another process to kill: it waits over SSH for output of a process that is silent.
import { background } from "sandpipe";
import { sshRuntime } from "sandpipe/node";

const [options = "", baseDir = "", id = ""] = process.argv.slice(2);
const processes = background(sshRuntime(JSON.parse(options)), { baseDir });
await processes.readOutput(id, { waitMs: 600_000 });
