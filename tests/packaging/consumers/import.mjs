import { connect } from "sandpipe";
import { startAgent } from "sandpipe/node";

const agent = await startAgent();
const sandbox = await connect({ url: agent.url, token: agent.token });
const result = await sandbox.execs.exec("sh", ["-c", "echo hello; echo oops >&2; exit 3"]);
console.log(JSON.stringify(result));
await agent.stop();
