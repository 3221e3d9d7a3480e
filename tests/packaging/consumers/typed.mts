import { connect, type ExecResult, type ExecStdout } from "sandpipe";
import { startAgent } from "sandpipe/node";
import { tools, type Tool } from "sandpipe/tools";

// Of no type library.
declare const console: { log(text: string): void };

const agent = await startAgent();
const sandbox = await connect({ url: agent.url, token: agent.token });
const events: ExecStdout[] = [];
const result: ExecResult = await sandbox.execs.exec(
  "sh",
  ["-c", "echo hello; echo oops >&2; exit 3"],
  { onOutput: (event) => events.push(event) },
);
if (events.length === 0) throw new Error("no event");
const [bash] = tools(sandbox);
const tool: Tool<"bash"> = bash;
const said: string = await tool.execute({ script: "exit 3" });
if (!said.startsWith("exit code: 3\n")) throw new Error(said);
console.log(JSON.stringify(result));
await agent.stop();
