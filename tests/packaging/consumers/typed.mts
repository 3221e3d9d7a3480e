import { connect, type ExecResult, type ExecStdout } from "sandpipe";
import { startAgent } from "sandpipe/node";

const agent = await startAgent();
const sandbox = await connect({ url: agent.url, token: agent.token });
const events: ExecStdout[] = [];
const result: ExecResult = await sandbox.execs.exec(
  "sh",
  ["-c", "echo hello; echo oops >&2; exit 3"],
  { onOutput: (event) => events.push(event) },
);
if (events.length === 0) throw new Error("no event");
console.log(JSON.stringify(result));
await agent.stop();
